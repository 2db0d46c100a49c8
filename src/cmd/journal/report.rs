//! `cruxctl journal report`: figures and pictures as a page.

use std::path::PathBuf;

use clap::Args;

use super::Name;
use crate::cmd::Context;
use crate::error::Result;

/// Arguments of `journal report`.
#[derive(Args, Debug)]
pub struct Report {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// The page's file; - is standard output
    #[arg(long, value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub html: PathBuf,
}

/// Runs the verb.
pub fn run(_context: &mut Context, _args: &Report) -> Result<()> {
    Ok(())
}
