//! PostgreSQL, by sqlx.

use async_trait::async_trait;
use serde_json::Value;
use sqlx::postgres::{PgPool, PgPoolOptions, Postgres as Driver};
use sqlx::{AssertSqlSafe, Executor as _, query, query_scalar};
use tokio::time::timeout;

use super::server::{Lent, raw};
use super::{CLEANUP, Limits, MOST_ROWS, REPORT, Raw, Session, Store};
use crate::receipts::postgres as receipts;
use crate::receipts::{Claim, Error, Key, Lifetimes, LookUp, Scope, Ticket};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id BIGINT PRIMARY KEY, tenant TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL CHECK (status IN ('open', 'shipped', 'closed')), cents BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS changes (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id BIGINT NOT NULL, status TEXT NOT NULL);
    CREATE OR REPLACE VIEW report_v1 AS SELECT id, tenant, status, cents FROM orders;
    INSERT INTO orders VALUES
        (1, 'north', 'amina@north.example', 'open', 4200), (2, 'north', 'bo@north.example', 'shipped', 990),
        (3, 'south', 'chidi@south.example', 'open', 12500), (4, 'south', 'dana@south.example', 'closed', 310)
        ON CONFLICT DO NOTHING;
    CREATE OR REPLACE VIEW orders_v1 WITH (security_barrier) AS
        SELECT id, status, cents FROM orders WHERE 'retort_tenant_' || tenant = current_user::text;
";

pub struct Postgres {
    pool: PgPool,
}

struct PostgresSession {
    connection: Lent<Driver>,
    id: i32,
    pool: PgPool,
}

pub async fn open(url: &str, limits: Limits) -> Result<Postgres, Raw> {
    let statement_ms = limits.statement.as_millis();
    let settings = format!("SET statement_timeout = {statement_ms}; SET lock_timeout = {}", statement_ms / 2);
    let pool = PgPoolOptions::new()
        .max_connections(limits.pool)
        .acquire_timeout(limits.pool_wait)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move { connection.execute(AssertSqlSafe(settings)).await.map(drop) })
        })
        .connect_lazy(url)
        .map_err(raw)?;
    lay_out(&pool, limits.tenant_roles).await.map_err(raw)?;
    Ok(Postgres { pool })
}

async fn lay_out(pool: &PgPool, tenant_roles: bool) -> sqlx::Result<()> {
    let mut connection = pool.acquire().await?;
    connection.execute(SCHEMA).await?;
    receipts::create(&mut connection).await?;
    if !tenant_roles {
        return Ok(());
    }
    // Model-written SQL runs as a role that sees the one view, and there only its tenant's rows.
    let schema: String =
        query_scalar("SELECT quote_ident(current_schema())").fetch_one(&mut *connection).await?;
    for tenant in ["north", "south"] {
        let role = format!("retort_tenant_{tenant}");
        let known: Option<i32> = query_scalar("SELECT 1 FROM pg_roles WHERE rolname = $1")
            .bind(&role)
            .fetch_optional(&mut *connection)
            .await?;
        if known.is_none() {
            connection.execute(AssertSqlSafe(format!("CREATE ROLE {role} NOLOGIN"))).await?;
        }
        connection.execute(AssertSqlSafe(format!("GRANT USAGE ON SCHEMA {schema} TO {role}"))).await?;
        connection.execute(AssertSqlSafe(format!("GRANT SELECT ON orders_v1 TO {role}"))).await?;
    }
    Ok(())
}

#[async_trait]
impl Store for Postgres {
    fn system(&self) -> &'static str {
        "postgresql"
    }

    fn driver(&self) -> &'static str {
        "sqlx"
    }

    async fn acquire(&self) -> Result<Box<dyn Session>, Raw> {
        PostgresSession::open(&self.pool).await
    }
}

/// A cancel would leave a session that waits for its client's next word with its transaction and locks.
fn kill(id: i32) -> String {
    format!("SELECT pg_terminate_backend({id})")
}

server_session!(PostgresSession, PgPool, receipts, "SELECT pg_backend_pid()", kill, {
    async fn report(&mut self, tenant: &str, status: Option<&str>, limit: i64) -> Result<Value, Raw> {
        let sql = format!(
            "SELECT coalesce(json_agg(t), '[]')::text FROM ({}) t",
            REPORT.replace("$2 IS NULL", "$2::text IS NULL")
        );
        let rows = query_scalar(AssertSqlSafe(sql)).bind(tenant).bind(status).bind(limit);
        let rows: String = rows.fetch_one(&mut *self.connection).await.map_err(raw)?;
        Ok(serde_json::from_str(&rows).unwrap_or_default())
    }

    async fn query(&mut self, tenant: &str, sql: &str) -> Result<Value, Raw> {
        self.connection.execute("BEGIN READ ONLY").await.map_err(raw)?;
        let role = format!("SET LOCAL ROLE \"retort_tenant_{}\"", tenant.replace('"', "\"\""));
        self.connection.execute(AssertSqlSafe(role)).await.map_err(raw)?;
        let sql = sql.trim().trim_end_matches(';');
        let sql = format!(
            "SELECT coalesce(json_agg(t), '[]')::text FROM (SELECT * FROM (\n{sql}\n) q LIMIT {MOST_ROWS}) t"
        );
        let rows: String =
            query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *self.connection).await.map_err(raw)?;
        self.connection.execute("ROLLBACK").await.map_err(raw)?;
        Ok(serde_json::from_str(&rows).unwrap_or_default())
    }

    async fn change(&mut self, tenant: &str, order_id: i64, status: &str) -> Result<u64, Raw> {
        let update = query("UPDATE orders SET status = $1 WHERE id = $2 AND tenant = $3");
        let update = update
            .bind(status)
            .bind(order_id)
            .bind(tenant)
            .execute(&mut *self.connection)
            .await
            .map_err(raw)?;
        if update.rows_affected() > 0 {
            let insert =
                query("INSERT INTO changes (order_id, status) VALUES ($1, $2)").bind(order_id).bind(status);
            insert.execute(&mut *self.connection).await.map_err(raw)?;
        }
        Ok(update.rows_affected())
    }
});
