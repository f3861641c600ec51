//! The sanitiser natively and through the warm component, in one run:
//! `cargo bench -p retort-tests --bench sanitise --features retort-host/embed`.

use std::sync::LazyLock;

use divan::Bencher;
use retort_host::{Component, Contract, Instances, Native, Options};

fn main() {
    divan::main();
}

/// The component with an instance that is kept between calls.
static COMPONENT: LazyLock<Component> = LazyLock::new(|| load(Options::default()));

/// The same without a deadline.
static UNBOUNDED: LazyLock<Component> =
    LazyLock::new(|| load(Options { deadline: None, ..Options::default() }));

fn load(options: Options) -> Component {
    Component::load(None, Options { instances: Instances::Reused, ..options }).expect("the component")
}

/// Who answers.
#[derive(Clone, Copy, Debug)]
enum Host {
    Native,
    Component,
    ComponentWithoutDeadline,
}

impl Host {
    fn contract(self) -> &'static dyn Contract {
        match self {
            Host::Native => &Native,
            Host::Component => &*COMPONENT,
            Host::ComponentWithoutDeadline => &*UNBOUNDED,
        }
    }
}

const HOSTS: [Host; 3] = [Host::Native, Host::Component, Host::ComponentWithoutDeadline];

/// Sixteen lines of an ordinary log.
fn clean() -> String {
    let line = "2024-05-01 12:30:45 INFO scheduler: the nightly job finished after 3 attempts; the queue is empty \
        again and all workers are idle. No rows were changed, no lock was held longer than expected.\n";
    line.repeat(16)
}

/// Eight errors as a driver and an ORM write them.
fn dirty() -> String {
    let error = "ERROR: duplicate key value violates unique constraint \"users_email_key\"\nDETAIL:  Key \
        (email)=(ada@example.com) already exists.\n[SQL: INSERT INTO users (id, email) VALUES (1, 'ada@example.com')]\n\
        connection to server at \"10.1.2.3\", port 5432: postgres://app:s3cret@db.internal:5432/ledger\n";
    error.repeat(8)
}

/// A statement of 6 kB.
fn statement() -> String {
    let list: Vec<String> = (0..1020).map(|number| format!("'{}'", number % 1000)).collect();
    format!("SELECT id, name FROM users WHERE id IN ({})", list.join(","))
}

/// A statement of a hundred columns.
fn columns() -> String {
    let list: Vec<String> = (0..100).map(|number| format!("column_{number}")).collect();
    format!("SELECT {} FROM users WHERE a = 'x'", list.join(", "))
}

#[divan::bench(args = HOSTS)]
fn inspect_clean(bencher: Bencher, host: Host) {
    let text = clean();
    bencher.bench(|| host.contract().typed().inspect(&text));
}

#[divan::bench(args = HOSTS)]
fn inspect_dirty(bencher: Bencher, host: Host) {
    let text = dirty();
    bencher.bench(|| host.contract().typed().inspect(&text));
}

#[divan::bench(args = HOSTS)]
fn redact_dirty(bencher: Bencher, host: Host) {
    let text = dirty();
    bencher.bench(|| host.contract().typed().redact(&text, "diagnostic"));
}

#[divan::bench(args = HOSTS)]
fn fingerprint_literals(bencher: Bencher, host: Host) {
    let text = statement();
    bencher.bench(|| host.contract().typed().fingerprint(&text, "postgresql"));
}

#[divan::bench(args = HOSTS)]
fn fingerprint_columns(bencher: Bencher, host: Host) {
    let text = columns();
    bencher.bench(|| host.contract().typed().fingerprint(&text, "postgresql"));
}
