//! The receipt stores, on real databases.

mod servers;

use retort::words::Receipt;
use retort_host::receipts::{
    Claim, Error, Fenced, Key, Lifetimes, LookUp, Scope, Ticket, mysql, postgres, sqlite,
};
use rusqlite::{Connection, TransactionBehavior};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Executor as _, Row as _};

const LIFETIMES: Lifetimes = Lifetimes { lease_ms: 1_000, retention_ms: 60_000 };

fn scope(principal: &str, tool: &str, operation_key: &str) -> Scope {
    Scope::new(principal, tool, operation_key).expect("the key is valid")
}

fn key() -> Key {
    scope("ada", "order", "k-1").key(b"{\"item\":1}")
}

fn granted(claim: Claim) -> Ticket {
    match claim {
        Claim::New(ticket) => ticket,
        other => panic!("the claim is not granted: {other:?}"),
    }
}

fn found(receipt: Receipt) -> LookUp {
    LookUp { receipt, fenced: false }
}

fn fenced(receipt: Receipt) -> LookUp {
    LookUp { receipt, fenced: true }
}

/// Two connections to one file, with a table to write to.
struct Sqlite {
    _folder: tempfile::TempDir,
    first: Connection,
    second: Connection,
}

impl Sqlite {
    fn new() -> Sqlite {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let open = || Connection::open(folder.path().join("receipts.db")).expect("the file opens");
        let (first, second) = (open(), open());
        sqlite::create(&first).expect("the table is made");
        first.execute("CREATE TABLE orders (item INTEGER)", ()).expect("the table is made");
        Sqlite { first, second, _folder: folder }
    }

    /// One attempt: the change and its receipt in one transaction.
    fn write(&mut self, ticket: &Ticket) -> Result<(), Error<rusqlite::Error>> {
        let transaction =
            self.first.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::Store)?;
        transaction.execute("INSERT INTO orders VALUES (1)", ()).map_err(Error::Store)?;
        sqlite::commit(&transaction, ticket, "{\"order\":7}")?;
        transaction.commit().map_err(Error::Store)
    }

    fn orders(&self) -> i64 {
        self.second
            .query_row("SELECT count(*) FROM orders", (), |row| row.get(0))
            .expect("orders are counted")
    }

    fn claim(&self, key: &Key, now_ms: i64) -> Claim {
        sqlite::claim(&self.second, key, LIFETIMES, now_ms).expect("the store answers")
    }

    fn look_up(&self, scope: &Scope, now_ms: i64) -> LookUp {
        sqlite::look_up(&self.second, scope, now_ms).expect("the store answers")
    }
}

#[test]
fn a_repeated_key_gets_the_stored_result_and_writes_nothing() {
    let mut store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    assert_eq!(store.look_up(key().scope(), 1), found(Receipt::Pending));
    store.write(&ticket).expect("the first attempt commits");
    assert_eq!(store.look_up(key().scope(), 2), found(Receipt::Committed));
    assert_eq!(store.claim(&key(), 3), Claim::Committed("{\"order\":7}".into()));
    assert_eq!(store.orders(), 1);
}

#[test]
fn a_key_in_flight_is_not_granted_twice() {
    let store = Sqlite::new();
    granted(store.claim(&key(), 0));
    assert_eq!(store.claim(&key(), 999), Claim::InFlight);
}

#[test]
fn the_same_key_with_another_payload_is_refused_before_and_after_the_commit() {
    let mut store = Sqlite::new();
    let other = scope("ada", "order", "k-1").key(b"{\"item\":2}");
    let ticket = granted(store.claim(&key(), 0));
    assert_eq!(store.claim(&other, 1), Claim::Reused);
    store.write(&ticket).expect("the first attempt commits");
    assert_eq!(store.claim(&other, 2), Claim::Reused);
    assert_eq!(store.claim(&other, 70_000), Claim::Reused);
}

#[test]
fn an_unknown_key_and_somebody_elses_are_the_same_bytes() {
    let mut store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    store.write(&ticket).expect("the first attempt commits");
    let answer = |scope: &Scope| serde_json::to_string(&store.look_up(scope, 1)).expect("it is JSON");
    assert_eq!(answer(key().scope()), r#"{"receipt":"committed","fenced":false}"#);
    for other in [scope("eve", "order", "k-1"), scope("ada", "refund", "k-1"), scope("eve", "order", "k-2")] {
        assert_eq!(answer(&other), r#"{"receipt":"absent","fenced":false}"#);
    }
    // Whoever uses the same key for something else gets a key of their own.
    granted(store.claim(&scope("eve", "order", "k-1").key(b"{\"item\":1}"), 2));
}

#[test]
fn an_attempt_that_was_fenced_off_can_no_longer_commit() {
    let mut store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    assert_eq!(
        sqlite::fence(&store.second, key().scope(), LIFETIMES, 1).expect("the store answers"),
        fenced(Receipt::Absent)
    );
    assert!(matches!(store.write(&ticket), Err(Error::Fenced(Fenced))));
    assert_eq!((store.orders(), store.look_up(key().scope(), 2)), (0, found(Receipt::Absent)));
    let ticket = granted(store.claim(&key(), 3));
    store.write(&ticket).expect("the next attempt commits");
    assert_eq!(
        sqlite::fence(&store.second, key().scope(), LIFETIMES, 4).expect("the store answers"),
        fenced(Receipt::Committed)
    );
    assert_eq!(store.orders(), 1);
}

#[test]
fn an_attempt_that_began_before_the_fence_claims_in_vain() {
    let mut store = Sqlite::new();
    // The attempt of time 5 still waits for a connection when its caller asks what became of it.
    let fence = |now_ms| sqlite::fence(&store.second, key().scope(), LIFETIMES, now_ms).expect("an answer");
    assert_eq!(fence(6), fenced(Receipt::Absent));
    assert_eq!(store.claim(&key(), 5), Claim::Fenced);
    assert_eq!(store.claim(&key(), 6), Claim::Fenced);
    assert_eq!(store.look_up(key().scope(), 6), found(Receipt::Absent));
    // What begins later is another attempt; whatever its payload, it is the key's first.
    let ticket = granted(store.claim(&key(), 7));
    store.write(&ticket).expect("the next attempt commits");
    let other = scope("ada", "order", "k-1").key(b"{\"item\":2}");
    assert_eq!((store.claim(&other, 8), store.orders()), (Claim::Reused, 1));
}

#[test]
fn a_claim_whose_lease_is_over_is_taken_over_and_fences_the_first_off() {
    let mut store = Sqlite::new();
    let first = granted(store.claim(&key(), 0));
    let second = granted(store.claim(&key(), 1_000));
    assert!(matches!(store.write(&first), Err(Error::Fenced(Fenced))));
    store.write(&second).expect("the second attempt commits");
    assert_eq!(store.orders(), 1);
}

#[test]
fn a_key_given_back_is_granted_at_once() {
    let store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    sqlite::release(&store.second, &ticket).expect("the store answers");
    assert_eq!(store.look_up(key().scope(), 1), found(Receipt::Absent));
    granted(store.claim(&key(), 1));
}

#[test]
fn a_rolled_back_change_leaves_no_receipt() {
    let mut store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    let transaction = store.first.transaction().expect("a transaction begins");
    transaction.execute("INSERT INTO orders VALUES (1)", ()).expect("the change is made");
    sqlite::commit(&transaction, &ticket, "{}").expect("the receipt is written");
    transaction.rollback().expect("both are undone");
    assert_eq!((store.orders(), store.look_up(key().scope(), 1)), (0, found(Receipt::Pending)));
}

#[test]
fn a_key_whose_time_is_over_is_neither_replayed_nor_executed() {
    let mut store = Sqlite::new();
    let ticket = granted(store.claim(&key(), 0));
    store.write(&ticket).expect("the first attempt commits");
    assert_eq!(store.look_up(key().scope(), 59_999), found(Receipt::Committed));
    assert_eq!(store.look_up(key().scope(), 60_000), found(Receipt::Expired));
    assert_eq!(store.claim(&key(), 60_000), Claim::Expired);
    assert_eq!(sqlite::forget(&store.second, 60_000).expect("the store answers"), 1);
    assert_eq!(store.look_up(key().scope(), 60_001), found(Receipt::Absent));
}

#[test]
fn what_is_no_operation_key_has_no_scope() {
    for operation_key in ["", "a b", "ä", &"k".repeat(257)] {
        assert_eq!(Scope::new("ada", "order", operation_key), None);
    }
    assert_ne!(scope("ada", "order", "k"), scope("adaorder", "", "k"));
}

async fn connect(server: &servers::Server) -> PgConnection {
    let options = PgConnectOptions::new().socket(server.folder()).username("postgres").database("postgres");
    for _ in 0..100 {
        if let Ok(connection) = PgConnection::connect_with(&options).await {
            return connection;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    PgConnection::connect_with(&options).await.expect("the server takes connections")
}

async fn pg_claim(connection: &mut PgConnection, key: &Key, now_ms: i64) -> Claim {
    postgres::claim(connection, key, LIFETIMES, now_ms).await.expect("the store answers")
}

async fn pg_orders(connection: &mut PgConnection) -> i64 {
    let row =
        sqlx::query("SELECT count(*) FROM orders").fetch_one(connection).await.expect("orders are counted");
    row.get(0)
}

/// One attempt up to its COMMIT.
async fn pg_begin_and_write(
    connection: &mut PgConnection,
    ticket: &Ticket,
) -> Result<(), Error<sqlx::Error>> {
    connection.execute("BEGIN").await.map_err(Error::Store)?;
    connection.execute("INSERT INTO orders VALUES (1)").await.map_err(Error::Store)?;
    postgres::commit(connection, ticket, "{\"order\":7}").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_keeps_receipts_with_their_writes() {
    let Some(server) = servers::postgres() else { return };
    let (mut first, mut second) = (connect(&server).await, connect(&server).await);
    postgres::create(&mut first).await.expect("the table is made");
    first.execute("CREATE TABLE orders (item BIGINT)").await.expect("the table is made");
    let key = key();

    // The first attempt waits on something and is fenced off before it commits.
    let ticket = granted(pg_claim(&mut first, &key, 0).await);
    assert_eq!(pg_claim(&mut second, &key, 999).await, Claim::InFlight);
    assert_eq!(
        postgres::fence(&mut second, key.scope(), LIFETIMES, 1_000).await.expect("the store answers"),
        fenced(Receipt::Absent)
    );
    assert!(matches!(pg_begin_and_write(&mut first, &ticket).await, Err(Error::Fenced(Fenced))));
    first.execute("ROLLBACK").await.expect("the attempt is undone");

    // The second is at its COMMIT when the fence comes: the fence waits, and then finds the receipt.
    let ticket = granted(pg_claim(&mut first, &key, 1_001).await);
    pg_begin_and_write(&mut first, &ticket).await.expect("change and receipt are written");
    assert_eq!(
        postgres::look_up(&mut second, key.scope(), 1_002).await.expect("the store answers"),
        found(Receipt::Pending)
    );
    let fence = async { postgres::fence(&mut second, key.scope(), LIFETIMES, 1_003).await };
    let commit = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        first.execute("COMMIT").await
    };
    let (fence, commit) = tokio::join!(fence, commit);
    commit.expect("the attempt commits");
    assert_eq!(fence.expect("the store answers"), fenced(Receipt::Committed));

    assert_eq!(pg_claim(&mut second, &key, 1_004).await, Claim::Committed("{\"order\":7}".into()));
    assert_eq!(pg_claim(&mut second, &scope("ada", "order", "k-1").key(b"{}"), 1_005).await, Claim::Reused);
    assert_eq!(
        postgres::look_up(&mut second, &scope("eve", "order", "k-1"), 1_006)
            .await
            .expect("the store answers"),
        found(Receipt::Absent)
    );
    assert_eq!(pg_orders(&mut second).await, 1);
    assert_eq!(pg_claim(&mut second, &key, 70_000).await, Claim::Expired);
    assert_eq!(postgres::forget(&mut second, 70_000).await.expect("the store answers"), 1);

    // A key given back is granted at once.
    let ticket = granted(pg_claim(&mut first, &key, 70_001).await);
    postgres::release(&mut first, &ticket).await.expect("the store answers");
    granted(pg_claim(&mut second, &key, 70_002).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_claims_at_once_one_is_granted() {
    let Some(server) = servers::postgres() else { return };
    postgres::create(&mut connect(&server).await).await.expect("the table is made");
    let mut claims = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut connection = connect(&server).await;
        claims.spawn(async move { pg_claim(&mut connection, &key(), 0).await });
    }
    let claims = claims.join_all().await;
    let granted = claims.iter().filter(|claim| matches!(claim, Claim::New(_))).count();
    let in_flight = claims.iter().filter(|claim| **claim == Claim::InFlight).count();
    assert_eq!((granted, in_flight), (1, 7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_a_fence_ends_the_session_that_hangs_in_its_commit() {
    let Some(server) = servers::postgres() else { return };
    let (mut first, mut second) = (connect(&server).await, connect(&server).await);
    postgres::create(&mut first).await.expect("the table is made");
    first.execute("CREATE TABLE orders (item BIGINT)").await.expect("the table is made");
    let ticket = granted(pg_claim(&mut first, &key(), 1).await);
    pg_begin_and_write(&mut first, &ticket).await.expect("change and receipt are written");

    // Its COMMIT never comes, and its locks stay.
    second.execute("SET lock_timeout = 200").await.expect("the setting is known");
    let fence = postgres::fence(&mut second, key().scope(), LIFETIMES, 2).await;
    assert_eq!(fence.expect("the store answers"), fenced(Receipt::Absent));
    first.execute("COMMIT").await.expect_err("the session has been ended");
    assert_eq!(pg_orders(&mut second).await, 0);
    assert_eq!(pg_claim(&mut second, &key(), 2).await, Claim::Fenced);
    granted(pg_claim(&mut second, &key(), 3).await);
}

async fn mariadb_connect(server: &servers::Server) -> MySqlConnection {
    let socket = servers::mariadb_socket(server.folder());
    let options = MySqlConnectOptions::new().socket(socket).username("root").database("mysql");
    MySqlConnection::connect_with(&options).await.expect("the server takes connections")
}

/// One attempt up to its COMMIT.
async fn mariadb_begin_and_write(
    connection: &mut MySqlConnection,
    ticket: &Ticket,
) -> Result<(), Error<sqlx::Error>> {
    connection.execute("BEGIN").await.map_err(Error::Store)?;
    connection.execute("INSERT INTO orders VALUES (1)").await.map_err(Error::Store)?;
    mysql::commit(connection, ticket, "{\"order\":7}").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_keeps_receipts_and_fences_attempts_off() {
    let Some(server) = servers::mariadb() else { return };
    let (mut first, mut second) = (mariadb_connect(&server).await, mariadb_connect(&server).await);
    mysql::create(&mut first).await.expect("the table is made");
    first.execute("CREATE TABLE orders (item BIGINT) ENGINE = InnoDB").await.expect("the table is made");
    second.execute("SET SESSION innodb_lock_wait_timeout = 1").await.expect("the setting is known");
    let key = key();
    let claim = async |connection: &mut MySqlConnection, began_ms| {
        mysql::claim(connection, &key, LIFETIMES, began_ms).await.expect("the store answers")
    };
    let fence = async |connection: &mut MySqlConnection, now_ms| {
        mysql::fence(connection, key.scope(), LIFETIMES, now_ms).await.expect("the store answers")
    };

    // Fenced before the claim, and after it.
    assert_eq!(fence(&mut second, 1).await, fenced(Receipt::Absent));
    assert_eq!(claim(&mut first, 1).await, Claim::Fenced);
    let ticket = granted(claim(&mut first, 2).await);
    assert_eq!(fence(&mut second, 3).await, fenced(Receipt::Absent));
    let written = mariadb_begin_and_write(&mut first, &ticket).await;
    assert!(matches!(written, Err(Error::Fenced(Fenced))), "{written:?}");
    first.execute("ROLLBACK").await.expect("the attempt is undone");

    // Fenced in its commit: the session is ended.
    let ticket = granted(claim(&mut first, 4).await);
    mariadb_begin_and_write(&mut first, &ticket).await.expect("change and receipt are written");
    assert_eq!(fence(&mut second, 5).await, fenced(Receipt::Absent));
    first.execute("COMMIT").await.expect_err("the session has been ended");

    // And what is committed stays committed.
    let mut third = mariadb_connect(&server).await;
    let ticket = granted(claim(&mut third, 6).await);
    mariadb_begin_and_write(&mut third, &ticket).await.expect("change and receipt are written");
    third.execute("COMMIT").await.expect("the attempt commits");
    assert_eq!(fence(&mut second, 7).await, fenced(Receipt::Committed));
    assert_eq!(claim(&mut second, 8).await, Claim::Committed("{\"order\":7}".into()));
    let orders = sqlx::query("SELECT count(*) FROM orders").fetch_one(&mut second).await;
    assert_eq!(orders.expect("orders are counted").get::<i64, _>(0), 1);
}
