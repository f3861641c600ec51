//! A connection past the proxy, with all the rights that the drill has.

use reqwest::Url;
use rusqlite::Connection;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, MySqlConnection, PgConnection, query_as};

use super::{Error, Target};

/// A connection.
pub enum Admin {
    /// By sqlx.
    Postgres(PgConnection),
    /// By sqlx, to MySQL or MariaDB.
    MySql(MySqlConnection),
    /// By rusqlite.
    Sqlite(Connection),
}

impl Admin {
    /// A connection to a server.
    pub async fn open(target: Target, url: &Url) -> sqlx::Result<Admin> {
        Ok(match target {
            Target::Mariadb | Target::Mysql => {
                Admin::MySql(url.as_str().parse::<MySqlConnectOptions>()?.connect().await?)
            }
            _ => Admin::Postgres(url.as_str().parse::<PgConnectOptions>()?.connect().await?),
        })
    }

    /// Runs a statement.
    pub async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        let statement = AssertSqlSafe(sql.to_owned());
        match self {
            Admin::Postgres(connection) => connection.execute(statement).await.map(drop)?,
            Admin::MySql(connection) => connection.execute(statement).await.map(drop)?,
            Admin::Sqlite(connection) => connection.execute_batch(sql)?,
        }
        Ok(())
    }

    /// The first two columns of a statement, as numbers.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<(i64, i64)>, Error> {
        let statement = AssertSqlSafe(sql.to_owned());
        Ok(match self {
            Admin::Postgres(connection) => query_as(statement).fetch_all(connection).await?,
            Admin::MySql(connection) => query_as(statement).fetch_all(connection).await?,
            Admin::Sqlite(connection) => {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect::<rusqlite::Result<_>>()?
            }
        })
    }

    /// The one text that a statement on a server gives.
    pub async fn text(&mut self, sql: &'static str) -> sqlx::Result<String> {
        let (text,) = match self {
            Admin::Postgres(connection) => query_as(sql).fetch_one(connection).await?,
            Admin::MySql(connection) => query_as(sql).fetch_one(connection).await?,
            Admin::Sqlite(_) => (String::new(),),
        };
        Ok(text)
    }
}
