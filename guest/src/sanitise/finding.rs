//! What the scanner finds.

/// Declares the kinds of findings with their words.
macro_rules! kinds {
    ($($(#[$meta:meta])* $variant:ident = $word:literal;)+) => {
        /// What a finding is.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Kind { $($(#[$meta])* $variant),+ }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),+];

            /// The word for the kind.
            pub const fn as_str(self) -> &'static str {
                match self { $(Kind::$variant => $word),+ }
            }

            /// The mark that stands in a redacted text where something of this kind was.
            pub const fn mark(self) -> &'static str {
                match self { $(Kind::$variant => concat!("[", $word, "]")),+ }
            }
        }
    };
}

kinds! {
    /// A password, key or connection string.
    Credential = "credential";
    /// A value of a row, a parameter or a literal.
    Value = "value";
    /// Text of a statement or command.
    Sql = "sql";
    /// The name or address of a host, a port, a URL.
    Host = "host";
    /// The name of a database, catalogue or service.
    Database = "database";
    /// The name of a user or role.
    User = "user";
    /// The path of a file.
    Path = "path";
    /// A mail address.
    Email = "email";
    /// A bearer token, JWT, vendor's key or another random text.
    Token = "token";
    /// A UUID, a long hexadecimal number, a request or connection id.
    Identifier = "identifier";
    /// A card, account, phone or social security number; at `strict` any number.
    Number = "number";
    /// The name of a table, column or another object (at `strict` only).
    Name = "name";
    /// Control, bidirectional and invisible characters, escape sequences.
    Control = "control";
    /// Text that addresses a model.
    Instruction = "instruction";
    /// Frames of a stack.
    Stack = "stack";
    /// Words outside the vocabulary of error messages (at `strict` only).
    Text = "text";
}

impl serde::Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A range of bytes of a text that must not be seen.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, serde::Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The index of its first byte.
    pub start: u32,
    /// The index behind its last byte.
    pub end: u32,
}

/// How much goes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Level {
    /// Credentials, values, statements, people, places: what a restricted log must not hold.
    #[default]
    Diagnostic,
    /// Names of objects and every word outside the vocabulary of error messages, too.
    Strict,
}

impl Level {
    /// The level for a word; an unknown word is read as `strict`.
    pub fn parse(text: &str) -> Level {
        if text.eq_ignore_ascii_case("diagnostic") { Level::Diagnostic } else { Level::Strict }
    }

    /// The level's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Diagnostic => "diagnostic",
            Level::Strict => "strict",
        }
    }
}
