//! MySQL and MariaDB, by sqlx.

use async_trait::async_trait;
use serde_json::{Value, json};
use sqlx::mysql::{MySql as Driver, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Executor as _, Row as _, query, query_scalar};
use tokio::time::timeout;

use super::server::{Lent, raw};
use super::{CLEANUP, Limits, Raw, Session, Store};
use crate::receipts::mysql as receipts;
use crate::receipts::{Claim, Error, Key, Lifetimes, LookUp, Scope, Ticket};

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS orders (
        id BIGINT PRIMARY KEY, tenant VARCHAR(64) NOT NULL, email VARCHAR(255) NOT NULL UNIQUE,
        status VARCHAR(16) NOT NULL CHECK (status IN ('open', 'shipped', 'closed')), cents BIGINT NOT NULL) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS changes (
        id BIGINT AUTO_INCREMENT PRIMARY KEY, order_id BIGINT NOT NULL, status VARCHAR(16) NOT NULL) ENGINE = InnoDB",
    "CREATE OR REPLACE VIEW report_v1 AS SELECT id, tenant, status, cents FROM orders",
    "INSERT IGNORE INTO orders VALUES
        (1, 'north', 'amina@north.example', 'open', 4200), (2, 'north', 'bo@north.example', 'shipped', 990),
        (3, 'south', 'chidi@south.example', 'open', 12500), (4, 'south', 'dana@south.example', 'closed', 310)",
];
const REPORT: &str = "SELECT id, status, cents FROM report_v1 WHERE tenant = ? AND (? IS NULL OR status = ?) ORDER BY id DESC LIMIT ?";

pub struct MySql {
    pool: MySqlPool,
    system: &'static str,
}

struct MySqlSession {
    connection: Lent<Driver>,
    id: u64,
    pool: MySqlPool,
}

pub async fn open(url: &str, limits: Limits) -> Result<MySql, Raw> {
    // sqlx knows the scheme mysql only; the two servers speak one protocol.
    let url = url.replacen("mariadb:", "mysql:", 1);
    let seconds = limits.statement.as_secs_f64();
    let pool = MySqlPoolOptions::new()
        .max_connections(limits.pool)
        .acquire_timeout(limits.pool_wait)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                let lock = format!("SET SESSION innodb_lock_wait_timeout = {}", (seconds / 2.0).ceil());
                connection.execute(AssertSqlSafe(lock)).await?;
                // MariaDB limits every statement, MySQL only SELECT: each knows one of the two.
                let mariadb = format!("SET SESSION max_statement_time = {seconds}");
                if connection.execute(AssertSqlSafe(mariadb)).await.is_err() {
                    let mysql = format!("SET SESSION max_execution_time = {}", (seconds * 1e3).ceil());
                    connection.execute(AssertSqlSafe(mysql)).await?;
                }
                Ok(())
            })
        })
        .connect_lazy(&url)
        .map_err(raw)?;
    let system = lay_out(&pool).await.map_err(raw)?;
    Ok(MySql { pool, system })
}

async fn lay_out(pool: &MySqlPool) -> sqlx::Result<&'static str> {
    let mut connection = pool.acquire().await?;
    for statement in SCHEMA {
        connection.execute(*statement).await?;
    }
    receipts::create(&mut connection).await?;
    let version: String = query_scalar("SELECT VERSION()").fetch_one(&mut *connection).await?;
    Ok(if version.contains("MariaDB") { "mariadb" } else { "mysql" })
}

#[async_trait]
impl Store for MySql {
    fn system(&self) -> &'static str {
        self.system
    }

    fn driver(&self) -> &'static str {
        "sqlx"
    }

    async fn acquire(&self) -> Result<Box<dyn Session>, Raw> {
        MySqlSession::open(&self.pool).await
    }
}

fn kill(id: u64) -> String {
    format!("KILL {id}")
}

server_session!(MySqlSession, MySqlPool, receipts, "SELECT CONNECTION_ID()", kill, {
    async fn report(&mut self, tenant: &str, status: Option<&str>, limit: i64) -> Result<Value, Raw> {
        let rows = query(REPORT).bind(tenant).bind(status).bind(status).bind(limit);
        let rows = rows.fetch_all(&mut *self.connection).await.map_err(raw)?;
        let row = |row: &sqlx::mysql::MySqlRow| {
            let (id, status, cents): (i64, String, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            Ok(json!({ "id": id, "status": status, "cents": cents }))
        };
        rows.iter().map(row).collect::<sqlx::Result<Vec<Value>>>().map(Value::from).map_err(raw)
    }

    async fn query(&mut self, _tenant: &str, _sql: &str) -> Result<Value, Raw> {
        // A view cannot be bound to a tenant here without a login of its own for each: rather no rows than others' rows.
        Err(json!({ "condition": "UNSUPPORTED_OPERATION" }))
    }

    async fn change(&mut self, tenant: &str, order_id: i64, status: &str) -> Result<u64, Raw> {
        let find = query_scalar("SELECT COUNT(*) FROM orders WHERE id = ? AND tenant = ? FOR UPDATE");
        let found: i64 =
            find.bind(order_id).bind(tenant).fetch_one(&mut *self.connection).await.map_err(raw)?;
        if found > 0 {
            let update = query("UPDATE orders SET status = ? WHERE id = ? AND tenant = ?");
            update
                .bind(status)
                .bind(order_id)
                .bind(tenant)
                .execute(&mut *self.connection)
                .await
                .map_err(raw)?;
            let insert =
                query("INSERT INTO changes (order_id, status) VALUES (?, ?)").bind(order_id).bind(status);
            insert.execute(&mut *self.connection).await.map_err(raw)?;
        }
        Ok(u64::try_from(found).unwrap_or_default())
    }
});
