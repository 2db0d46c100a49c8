//! Where an envelope comes from.

use std::path::PathBuf;

use clap::Args;

use crate::cmd::input;
use crate::error::{Code, Error, Result};
use crate::handoff::envelope;

/// Which envelope.
#[derive(Args, Debug)]
pub struct Source {
    /// The envelope's file; - or none: standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Take the envelope out of the answer of an MCP tool
    #[arg(long)]
    pub from_mcp: bool,
    /// The longest input that is read
    #[arg(long, value_name = "BYTES", default_value_t = 128 << 20)]
    pub max_bytes: u64,
}

impl Source {
    /// Reads the envelope's text.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        let hint = "pipe it in, or name its file: cruxctl handoff verify FILE";
        let (text, name) = input::bytes(self.file.as_deref(), self.max_bytes, "the envelope is", hint)?;
        let text = text.ok_or_else(|| {
            let message = format!("{name} has more than the {} bytes of --max-bytes", self.max_bytes);
            Error::new(Code::RejectedMalformed, message)
        })?;
        if self.from_mcp { envelope::from_mcp(&text).map(String::into_bytes) } else { Ok(text) }
    }
}
