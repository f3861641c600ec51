//! Conflicts: two transactions that meet, a lock that is held, a disk that is full.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::block_in_place;

use super::account_row;
use crate::Contract;
use crate::drill::failures::Outcome;
use crate::drill::ledger::{self, Arm, Claimed, Client, Policy, Script, Step, Totals, WIDTH};
use crate::drill::place::Place;
use crate::drill::servers::Server;
use crate::drill::{Error, Target};

/// What happens.
#[derive(Clone, Copy, Debug)]
pub enum Conflict {
    /// Two transactions wait for each other.
    Deadlock,
    /// Two transactions cannot be put into an order.
    Serialization,
    /// A row is locked, and stays so.
    Lock,
    /// The disk is full.
    Full,
}

/// How often.
const ROUNDS: u64 = 10;
/// Writes onto the small disk.
const FILLERS: u64 = 24;
/// Its size, in MiB.
const DISK: u32 = 16;
/// How long clients wait for an answer: longer than servers take to see a deadlock, which may be seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs it.
pub async fn run(
    conflict: Conflict,
    contract: &Arc<dyn Contract>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let place = Arc::new(place.another().await?);
    ledger::lay_out(&place, ROUNDS.max(FILLERS) + 1).await?;
    let stage = Stage { contract, place };
    match conflict {
        Conflict::Deadlock | Conflict::Serialization => {
            for round in 0..ROUNDS {
                stage.meet(stage.scripts(conflict, round), round * WIDTH, outcome).await?;
            }
            Ok(())
        }
        Conflict::Lock => stage.lock(outcome).await,
        Conflict::Full => stage.fill(outcome).await,
    }
}

struct Stage<'a> {
    contract: &'a Arc<dyn Contract>,
    place: Arc<Place>,
}

fn add(id: u64) -> Step {
    Step::within(format!("UPDATE ledger SET balance = balance + 1 WHERE id = {id}"))
}

impl Stage<'_> {
    fn client(&self) -> Client {
        Client::new(Arc::clone(self.contract), Arc::clone(&self.place), Policy::Envelope, None)
            .waiting(PATIENCE)
    }

    /// Two transactions that add to the first two rows of the round, or one of them.
    fn scripts(&self, conflict: Conflict, round: u64) -> [(Script, Vec<u64>); 2] {
        let (one, other) = (round * WIDTH, round * WIDTH + 1);
        let read = || Step::within("SELECT sum(balance) FROM ledger");
        let script = |steps: Vec<Step>, rows: Vec<u64>| (Script::transaction(steps), rows);
        if matches!(conflict, Conflict::Deadlock) {
            return [(one, other), (other, one)].map(|(first, second)| {
                let steps = vec![Step::within("BEGIN"), add(first), add(second).meeting(), Step::commit()];
                script(steps, vec![first, second])
            });
        }
        if self.place.target == Target::Postgres && round % 2 == 1 {
            // Both have read what the other writes: this is found out at COMMIT.
            return [one, other].map(|row| {
                let begin = Step::within("BEGIN ISOLATION LEVEL SERIALIZABLE");
                script(vec![begin, read(), add(row), Step::commit().meeting()], vec![row])
            });
        }
        let begin: &[&str] = match self.place.target {
            Target::Postgres => &["BEGIN ISOLATION LEVEL REPEATABLE READ"],
            Target::Mariadb => {
                &["SET SESSION innodb_snapshot_isolation = ON", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]
            }
            _ => &["BEGIN"],
        };
        [(), ()].map(|()| {
            let mut steps: Vec<Step> = begin.iter().map(|sql| Step::within(*sql)).collect();
            steps.extend([read(), add(one).meeting(), Step::commit()]);
            script(steps, vec![one])
        })
    }

    /// Runs two scripts that meet, and compares the rows.
    async fn meet(
        &self,
        scripts: [(Script, Vec<u64>); 2],
        first_row: u64,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let meeting = Arc::new(Barrier::new(2));
        let tasks = scripts.map(|(script, rows)| {
            let mut client = self.client().meeting(Arc::clone(&meeting));
            tokio::spawn(async move {
                let mut totals = Totals::default();
                let claimed = client.write(&script, &mut totals).await;
                (rows, claimed, totals)
            })
        });
        let mut claims = Vec::new();
        for task in tasks {
            let (rows, claimed, totals) = task.await.map_err(|error| Error::Task(error.to_string()))?;
            outcome.meet(&totals);
            claims.extend(rows.into_iter().map(|row| (row, claimed)));
        }
        self.place.quiet().await?;
        let rows = format!("SELECT id, balance FROM ledger WHERE id IN ({first_row}, {})", first_row + 1);
        for (id, balance) in self.place.look(&rows).await? {
            let of_row: Vec<Claimed> =
                claims.iter().filter(|(row, _)| *row == id.unsigned_abs()).map(|(_, claim)| *claim).collect();
            account_row(outcome, &of_row, balance);
        }
        Ok(())
    }

    /// Writes to a row that another session has locked, and again when it has let go.
    async fn lock(&self, outcome: &mut Outcome) -> Result<(), Error> {
        let limit: &[&str] = match self.place.target {
            Target::Postgres => &["SET lock_timeout = '20ms'"],
            // MySQL makes a second of it.
            Target::Mariadb | Target::Mysql => &["SET SESSION innodb_lock_wait_timeout = 0"],
            _ => &[],
        };
        let begin = if self.place.target == Target::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        for round in 0..ROUNDS {
            let row = round * WIDTH;
            let arm = if round % 2 == 0 { Arm::Transaction } else { Arm::Autocommit };
            let mut script = arm.script(row);
            script.steps.splice(0..0, limit.iter().map(|sql| Step::alone(String::from(*sql))));
            let mut holder = self.place.lines().connect(PATIENCE).await.map_err(broken)?;
            holder.run(begin).await.map_err(broken)?;
            let taken = format!("UPDATE ledger SET balance = balance + 1 WHERE id = {row}");
            holder.run(&taken).await.map_err(broken)?;
            let (mut client, mut totals) = (self.client(), Totals::default());
            let mut claims = vec![client.write(&script, &mut totals).await];
            holder.run("ROLLBACK").await.map_err(broken)?;
            claims.push(client.write(&script, &mut totals).await);
            outcome.meet(&totals);
            drop((client, holder));
            self.place.quiet().await?;
            let rows = format!("SELECT id, balance FROM ledger WHERE id = {row}");
            for (_, balance) in self.place.look(&rows).await? {
                account_row(outcome, &claims, balance);
            }
        }
        Ok(())
    }

    /// Writes until the disk is full, or the server has ended for it, and once more when there is room again.
    async fn fill(&self, outcome: &mut Outcome) -> Result<(), Error> {
        let server = self.place.served.as_ref().and_then(|served| served.upstream.own.as_ref());
        let disk = match server.map(Disk::mount) {
            Some(Err(why)) => {
                outcome.skipped = Some(why);
                return Ok(());
            }
            Some(Ok(disk)) => Some(disk),
            None => None,
        };
        let folder = disk.as_ref().map(|disk| disk.0.display().to_string()).unwrap_or_default();
        let (limit, filler, more) = match self.place.target {
            // The least limit that SQLite takes is the size that the file has.
            Target::Sqlite => {
                ("PRAGMA max_page_count = 1", "zeroblob(1000000)", "PRAGMA max_page_count = 1000000")
            }
            _ => ("SELECT 1", "repeat('x', 1000000)", "SELECT 1"),
        };
        let lay_out = match self.place.target {
            Target::Sqlite => vec![String::from("CREATE TABLE filler (content BLOB)")],
            Target::Mariadb => {
                vec![format!("CREATE TABLE filler (content LONGTEXT) DATA DIRECTORY = '{folder}'")]
            }
            _ => vec![
                format!("CREATE TABLESPACE small LOCATION '{folder}'"),
                String::from("CREATE TABLE filler (content TEXT) TABLESPACE small"),
                String::from("ALTER TABLE filler ALTER content SET STORAGE EXTERNAL"),
            ],
        };
        for statement in lay_out {
            self.place.execute(&statement).await?;
        }
        let script = |number: u64, first: &str| {
            let fill = Step::within(format!("INSERT INTO filler VALUES ({filler})"));
            let begin = Step::within("BEGIN");
            let steps = vec![Step::alone(first.to_owned()), begin, add(number * WIDTH), fill, Step::commit()];
            Script::transaction(steps)
        };
        let (mut client, mut totals) = (self.client(), Totals::default());
        let mut claims = Vec::new();
        for number in 0..FILLERS {
            claims.push(client.write(&script(number, limit), &mut totals).await);
            if server.is_some_and(Server::has_ended) {
                break;
            }
        }
        if let Some(disk) = &disk {
            disk.mounted(&format!("remount,size={}m", 2 * DISK)).map_err(Error::Task)?;
        }
        if let Some(server) = server.filter(|server| server.has_ended()) {
            block_in_place(|| server.start_again())?;
            self.place.ready().await?;
        }
        let last = client.write(&script(claims.len() as u64, more), &mut totals).await;
        outcome.check(last == Claimed::Committed, || format!("with room again: {last:?}"));
        claims.push(last);
        outcome.meet(&totals);
        drop(client);
        self.place.quiet().await?;
        for (id, balance) in self.place.look("SELECT id, balance FROM ledger").await? {
            if let (0, Some(claim)) = (id.unsigned_abs() % WIDTH, claims.get((id / WIDTH as i64) as usize)) {
                account_row(outcome, &[*claim], balance);
            }
        }
        self.place.execute("DROP TABLE filler").await?;
        if self.place.target == Target::Postgres {
            self.place.execute("DROP TABLESPACE small").await?;
        }
        Ok(())
    }
}

fn broken(error: serde_json::Value) -> Error {
    Error::Task(error.to_string())
}

/// A small disk; unmounted with the value.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one that the server can write to; else says why that cannot be.
    fn mount(server: &Server) -> Result<Disk, String> {
        let folder = server.new_folder("small").map_err(|error| error.to_string())?;
        let owner = folder.metadata().map_err(|error| error.to_string())?;
        let disk = Disk(folder);
        disk.mounted(&format!("size={DISK}m,mode=700,uid={},gid={}", owner.uid(), owner.gid()))?;
        Ok(disk)
    }

    fn mounted(&self, options: &str) -> Result<(), String> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.0).output();
        match mount {
            Ok(output) if output.status.success() => Ok(()),
            _ => Err(String::from("needs the right to mount a small disk")),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: the server may still hold a file that it has dropped.
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}
