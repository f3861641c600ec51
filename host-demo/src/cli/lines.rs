//! Lines in, lines out.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::Error;

/// Where lines come from.
#[derive(Args, Debug)]
pub struct Input {
    /// Files to read, in order; `-` is standard input, which is also read without any file
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Input {
    /// These files; none is standard input.
    pub fn files(files: impl IntoIterator<Item = PathBuf>) -> Input {
        Input { files: files.into_iter().collect() }
    }

    /// Gives every line to `each` and writes what comes back as a line. Bytes that are no UTF-8 are replaced by U+FFFD;
    /// an empty line is a line too, so that line N of the output answers line N of the input.
    pub fn map_lines(&self, mut each: impl FnMut(&str) -> Option<String>) -> Result<(), Error> {
        let mut output = output();
        let progress = self.progress();
        for file in self.files_or_stdin() {
            let unreadable = |source| Error::Read { path: file.to_path_buf(), source };
            let mut reader = open(file).map_err(unreadable)?;
            let mut line = Vec::new();
            loop {
                line.clear();
                let length = reader.read_until(b'\n', &mut line).map_err(unreadable)?;
                if length == 0 {
                    break;
                }
                progress.inc(length as u64);
                let text = String::from_utf8_lossy(without_line_end(&line));
                if let Some(answer) = each(&text) {
                    writeln!(output, "{answer}")?;
                }
            }
        }
        progress.finish_and_clear();
        Ok(output.flush()?)
    }

    fn files_or_stdin(&self) -> Vec<&Path> {
        let files: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        if files.is_empty() { vec![Path::new("-")] } else { files }
    }

    /// A bar on the terminal while files go into a file or pipe; nothing where it would mix with the output.
    fn progress(&self) -> ProgressBar {
        let length: Option<u64> =
            self.files.iter().map(|file| file.metadata().ok().map(|data| data.len())).sum();
        match length {
            Some(length) if length > 0 && io::stderr().is_terminal() && !io::stdout().is_terminal() => {
                let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}");
                ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            }
            _ => ProgressBar::hidden(),
        }
    }
}

/// The whole of standard input as text.
pub fn stdin_text() -> Result<String, Error> {
    let mut bytes = Vec::new();
    let unreadable = |source| Error::Read { path: PathBuf::from("-"), source };
    io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Standard output, buffered.
pub fn output() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(File::open(file)?)))
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
