//! `cruxctl handoff keygen`: a new key, in a file that only its owner can read.

use std::path::PathBuf;

use clap::Args;
use zeroize::Zeroizing;

use crate::cmd::Context;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::handoff::keys::{MAC, Secret, hex};
use crate::handoff::signature::{ED25519, PrivateKey};
use crate::journal::files;
use crate::render::{Group, Value};

/// Arguments of `handoff keygen`.
#[derive(Args, Debug)]
pub struct Keygen {
    /// The new file
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
    /// A pair of keys to sign and to verify with
    #[arg(long)]
    pub ed25519: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a new key.
pub const MADE: &[Group] = &[Group {
    name: "keys",
    one: "key",
    columns: &["path", "key_id", "algorithm", "public_path", "dry_run"],
    shown: &["path", "key_id", "algorithm", "public_path"],
    blocks: false,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Keygen) -> Result<()> {
    let mut public = args.file.clone().into_os_string();
    public.push(".pub");
    let public = PathBuf::from(public);
    if args.file.as_os_str() == "-" {
        let message = "a key is never printed: name a file for it";
        return Err(Error::new(Code::UsageArguments, message).hint("cruxctl handoff keygen handoff.key"));
    }
    let mut key_id = None;
    if args.dry_run {
        let wanted = [Some(&args.file), args.ed25519.then_some(&public)];
        if let Some(there) = wanted.into_iter().flatten().find(|path| path.symlink_metadata().is_ok()) {
            let message = format!("{} is there already, and no key is written over", there.display());
            return Err(Error::new(Code::RefusedExists, message));
        }
    } else {
        let mut seed = Zeroizing::new([0; 32]);
        env::fill_random(&mut *seed)?;
        let tag = env::random_tag()?;
        if args.ed25519 {
            let key = PrivateKey::new(&seed);
            let (private, shown) = (key.file(), key.public().file());
            files::create_private(&[(&args.file, private.as_bytes()), (&public, shown.as_bytes())], &tag)?;
            key_id = Some(key.public().key_id());
        } else {
            // With room for the line end, so that no copy of it is left behind.
            let mut text = Zeroizing::new(Vec::with_capacity(2 * seed.len() + 1));
            text.extend_from_slice(Zeroizing::new(hex(&*seed)).as_bytes());
            let secret = Secret::from_variable(text.clone(), "the new secret")?;
            text.push(b'\n');
            files::create_private(&[(&args.file, &text)], &tag)?;
            key_id = Some(secret.mac_key().key_id());
        }
    }
    let cells = [
        Value::text(args.file.to_string_lossy()),
        Value::maybe(key_id.as_deref()),
        Value::text(if args.ed25519 { ED25519 } else { MAC }),
        Value::maybe(args.ed25519.then(|| public.to_string_lossy())),
        Value::Flag(args.dry_run),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin("cruxctl.handoff.keygen.v1", MADE)
        .and_then(|()| printer.row(0, key_id.as_deref().as_slice(), &cells))
        .and_then(|()| printer.end());
    told.map_err(|error: Error| error.after(key_id.is_some(), &format!("the key is in {}", args.file.display())))
}
