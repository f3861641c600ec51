//! What words announce: the key of a pair, or what a quoted text that follows is.

use crate::lookup::{Words, words};

/// What a word announces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cue {
    /// Nothing.
    None,
    /// As a key: a secret. `password=…`
    Credential,
    /// As a key or before a quoted text: a user. `user 'x'`
    User,
    /// As a key or before a quoted text: a host.
    Host,
    /// As a key or before a quoted text: a database.
    Database,
    /// As a key, or before a number: a port.
    Port,
    /// Before a quoted text or a parenthesis: a value; `value = x`.
    Value,
    /// As a key: lists of values. `[parameters: …]`
    Parameters,
    /// As a key: a statement. `STATEMENT: …`
    Statement,
    /// Before a quoted text: a file.
    Path,
    /// Before a quoted text: the name of an object.
    Name,
    /// As a key: an identifier of a request, a connection, a trace.
    Identifier,
    /// As a key: frames of a stack.
    Stack,
    /// Can start a statement.
    Verb,
    /// Starts a sentence to a model.
    Instruction,
    /// Before a token: `Bearer x`.
    Scheme,
    /// Before a secret, without a separator: `requirepass x`.
    Secret,
    /// Before a group in parentheses: `Failing row contains (…)`.
    Row,
    /// `Duplicate entry '…' for key`: the value is not escaped.
    Entry,
    /// `near '…' at line 1`: the statement is not escaped.
    Near,
    /// `dup key: {…}`.
    Duplicate,
    /// `command {…}`, `command '…'`.
    Command,
    /// As a key together with `source`: a host. `Data Source=…`
    Data,
    /// `mysqli_connect('host', 'user', 'secret')`.
    Constructor,
    /// `failed at position 7 (x): …`: an excerpt of a statement.
    Position,
    /// What the name of a company ends with.
    Company,
    /// `COPY t, line 3: "…"`: an excerpt of data.
    Line,
    /// `string value containing x to a number`: the value is not quoted.
    Containing,
    /// `binding parameter (1:VARCHAR) <- [x]`.
    Binding,
}

use Cue::{
    Binding, Command, Company, Constructor, Containing, Credential, Data, Database, Duplicate, Entry, Host,
    Identifier, Instruction, Line, Name, Near, Parameters, Path, Port, Position, Row, Scheme, Secret, Stack,
    Statement, User, Value, Verb,
};

/// Can a word be a cue, by its length and its first two letters? A cheaper question than what it announces.
pub(super) fn may_be_cue(word: &[u8]) -> bool {
    let [first, second, ..] = word else {
        return false;
    };
    HEADS[pair(*first, *second)] >> word.len().min(31) & 1 == 1
}

/// For each pair of first letters: the lengths of the words that start with it, as bits.
static HEADS: [u32; 1024] = {
    let mut heads = [0; 1024];
    let mut index = 0;
    while index < WORDS.len() {
        let word = WORDS[index].0.as_bytes();
        assert!(word.len() >= 2 && word.len() < 32);
        heads[pair(word[0], word[1])] |= 1 << word.len();
        index += 1;
    }
    heads
};

/// The low bits of two letters, in which capitals and small letters are the same.
const fn pair(first: u8, second: u8) -> usize {
    ((first & 31) as usize) << 5 | (second & 31) as usize
}

/// What each word announces.
pub(super) static CUES: Words<Cue> = words!(Cue, WORDS);

/// The words.
#[rustfmt::skip]
const WORDS: &[(&str, Cue)] = &[
    ("password", Credential), ("passwd", Credential), ("passwort", Credential), ("pwd", Credential), ("pass", Credential),
    ("passphrase", Credential), ("secret", Credential), ("token", Credential), ("apikey", Credential), ("api_key", Credential),
    ("accesskey", Credential), ("access_key", Credential), ("accountkey", Credential), ("secretkey", Credential),
    ("secret_key", Credential), ("private_key", Credential), ("privatekey", Credential), ("sharedaccesskey", Credential),
    ("sharedaccesssignature", Credential), ("authorization", Credential), ("credential", Credential), ("auth_token", Credential),
    ("access_token", Credential), ("refresh_token", Credential), ("id_token", Credential), ("authtoken", Credential),
    ("client_secret", Credential), ("aws_secret_access_key", Credential), ("aws_access_key_id", Credential),
    ("aws_session_token", Credential), ("session_token", Credential), ("sessiontoken", Credential), ("db_password", Credential),
    ("db_pass", Credential), ("dbpassword", Credential), ("pgpassword", Credential), ("mysql_pwd", Credential),
    ("redis_password", Credential), ("userpassword", Credential), ("sslpassword", Credential), ("sslkey", Credential),
    ("authmechanismproperties", Credential), ("password_hash", Credential), ("passwordhash", Credential), ("contraseña", Credential),
    ("cookie", Credential), ("signature", Credential), ("encryption_key", Credential), ("master_key", Credential),
    ("secretaccesskey", Credential), ("accesskeyid", Credential), ("x-api-key", Credential), ("salt", Credential), ("sig", Credential),
    ("dsn", Credential), ("connectionstring", Credential), ("connection_string", Credential), ("connstr", Credential), ("database_url", Credential),
    ("user", User), ("username", User), ("user_name", User), ("userid", User), ("uid", User), ("login", User), ("usr", User),
    ("role", User), ("account", User), ("principal", User), ("owner", User), ("callerid", User), ("grantee", User),
    ("credentials", User), ("user_id", User), ("usuario", User), ("benutzer", User), ("utilisateur", User), ("пользователя", User),
    ("host", Host), ("hostname", Host), ("hostaddr", Host), ("server", Host), ("address", Host), ("addr", Host), ("datasource", Host),
    ("endpoint", Host), ("url", Host), ("uri", Host), ("servername", Host), ("host_name", Host), ("hosts", Host), ("servers", Host),
    ("connection_from", Host), ("client_addr", Host), ("client", Host), ("remote_addr", Host), ("jdbcurl", Credential),
    ("database", Database), ("databasename", Database), ("dbname", Database), ("db", Database), ("catalog", Database),
    ("initialcatalog", Database), ("dbq", Database), ("keyspace", Database), ("database_name", Database), ("service_name", Database), ("sid", Database),
    ("warehouse", Database), ("instance_name", Database), ("service", Database), ("project", Database), ("ns", Name),
    ("connect", Host), ("authorized", Database), ("port", Port),
    ("value", Value), ("string", Value), ("input", Value), ("literal", Value), ("content", Value), ("text", Value),
    ("preview", Value), ("datetime", Value), ("args", Parameters), ("argument", Value), ("arguments", Value), ("wert", Value),
    ("valeur", Value), ("document", Value), ("sequence", Value), ("parse", Value), ("convert", Value), ("cast", Value),
    ("parameters", Parameters), ("params", Parameters), ("bindings", Parameters), ("binds", Parameters), ("bindvars", Parameters),
    ("paramvalues", Parameters), ("parametervalues", Parameters), ("values", Parameters), ("keyvalue", Parameters), ("item", Parameters),
    ("keyvalues", Parameters), ("op", Parameters), ("payload", Parameters), ("headers", Parameters),
    ("body", Parameters), ("errinfo", Parameters), ("considervalue", Parameters), ("request_body", Parameters),
    ("statement", Statement), ("query", Statement), ("sql", Statement), ("sql语句", Statement), ("sqltext", Statement),
    ("internalquery", Statement), ("statements", Statement), ("cql", Statement), ("requête", Statement),
    ("file", Path), ("directory", Path), ("folder", Path), ("socket", Path), ("path", Path), ("pattern", Path), ("filename", Path),
    ("table", Name), ("relation", Name), ("column", Name), ("constraint", Name), ("index", Name), ("key", Name), ("view", Name),
    ("function", Name), ("procedure", Name), ("schema", Name), ("sequence_name", Name), ("trigger", Name), ("object", Name),
    ("collection", Name), ("field", Name), ("fields", Name), ("parameter", Name), ("option", Name), ("operator", Name),
    ("extension", Name), ("language", Name), ("tablespace", Name), ("attribute", Name), ("identifier", Name), ("cursor", Name),
    ("topic", Name), ("tabelle", Name), ("spalte", Name), ("relación", Name), ("restricción", Name), ("tablo", Name), ("type", Name),
    ("trace_id", Identifier), ("traceid", Identifier), ("request_id", Identifier), ("requestid", Identifier),
    ("aws_request_id", Identifier), ("connection_id", Identifier), ("clientconnectionid", Identifier), ("queryid", Identifier),
    ("query_id", Identifier), ("session_id", Identifier), ("sessionid", Identifier), ("tenant_id", Identifier), ("digest", Identifier),
    ("correlation_id", Identifier), ("correlationid", Identifier), ("job", Identifier), ("jobid", Identifier), ("job_id", Identifier),
    ("request_path", Path), ("steamid", Identifier), ("ssn", Credential), ("iban", Credential),
    ("stack", Stack), ("stacktrace", Stack), ("stack_trace", Stack), ("traceback", Stack), ("backtrace", Stack),
    ("select", Verb), ("insert", Verb), ("update", Verb), ("delete", Verb), ("merge", Verb), ("replace", Verb), ("upsert", Verb),
    ("create", Verb), ("alter", Verb), ("drop", Verb), ("truncate", Verb), ("grant", Verb), ("revoke", Verb), ("with", Verb),
    ("call", Verb), ("exec", Verb), ("declare", Verb), ("copy", Verb), ("attach", Verb), ("explain", Verb), ("identified", Verb),
    ("set", Verb),
    ("ignore", Instruction), ("disregard", Instruction), ("forget", Instruction), ("override", Instruction), ("previous", Instruction),
    ("assistant", Instruction), ("you", Instruction), ("system", Instruction), ("tell", Instruction), ("reveal", Instruction),
    ("bearer", Scheme), ("basic", Scheme),
    ("auth", Secret), ("requirepass", Secret), ("masterauth", Secret), ("setuser", Secret),
    ("contains", Row), ("enthält", Row), ("contient", Row), ("contiene", Row), ("contém", Row), ("row", Row),
    ("entry", Entry), ("eintrag", Entry), ("near", Near),
    ("dup", Duplicate),
    ("command", Command), ("data", Data), ("position", Position), ("bei", Value), ("cerca", Value), ("vicino", Value), ("pod", Host), ("logging_pod", Host), ("node_name", Host),
    ("gmbh", Company), ("ltd", Company), ("llc", Company), ("inc", Company), ("plc", Company), ("roles", User), ("__construct", Constructor), ("pdo", Constructor), ("mysqli_connect", Constructor), ("pg_connect", Constructor), ("oci_connect", Constructor),
    ("sqlsrv_connect", Constructor), ("line", Line), ("containing", Containing), ("binding", Binding),
    ("enotfound", Host), ("eai_again", Host), ("econnrefused", Host), ("connecting", Host), ("username", User), ("duplicata", Value), ("duplicada", Value),
];
