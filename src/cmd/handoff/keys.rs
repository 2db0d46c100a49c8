//! The keys that an envelope is minted with or held against: from files, from the environment, from the trust list.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use zeroize::Zeroizing;

use super::trust;
use crate::cmd::{Context, input};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::handoff::keys::Secret;
use crate::handoff::signature::{PrivateKey, PublicKey};
use crate::handoff::verify::{Algorithm, Keys, Trusted};
use crate::render::quoted;

/// The daemon's variable.
pub(in crate::cmd) const VARIABLE: &str = "CRUX_MCP_HANDOFF_SECRET";

/// What no key file is longer than. The place for it is taken at once, so that no copy of a secret is left behind.
const LONGEST: usize = 1 << 17;

/// What an envelope is held against.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// A file with the secret; given more than once, all are tried [default: $CRUX_MCP_HANDOFF_SECRET]
    #[arg(long = "key-file", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub key_files: Vec<PathBuf>,
    /// An agent and its public key; may be given more than once [default: as `handoff trust list` has them]
    #[arg(long, value_name = "AGENT=KEY.pub")]
    pub trusted: Vec<String>,
    /// Take only this kind of envelope
    #[arg(long, value_enum, value_name = "KIND")]
    pub require: Option<Require>,
}

/// A kind of envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Require {
    /// Signed by an agent
    Ed25519,
    /// With a MAC of a shared secret
    Mac,
}

impl Require {
    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Require::Ed25519 => Algorithm::Ed25519,
            Require::Mac => Algorithm::Mac,
        }
    }
}

/// The keys that there are, and why those of the trust list do not count, where they do not.
pub(super) struct Held {
    pub(super) keys: Keys,
    pub(super) doubt: Option<Error>,
}

impl KeyArgs {
    /// Every key that an envelope may be held against; at least one.
    pub(super) fn held(&self, context: &mut Context) -> Result<Held> {
        let mut held = Held { keys: Keys::default(), doubt: None };
        for path in &self.key_files {
            held.keys.macs.push(secret_of_file(context, path)?.mac_key());
        }
        let from_variable = self.key_files.is_empty() && self.trusted.is_empty();
        if from_variable
            && self.require != Some(Require::Ed25519)
            && let Some(secret) = secret_of_variable(context)?
        {
            held.keys.macs.push(secret.mac_key());
        }
        for typed in &self.trusted {
            let trusted = typed_agent(typed)?;
            if held.keys.agents.iter().any(|own| own.key == trusted.key && own.agent != trusted.agent) {
                let message = format!("--trusted {typed:?}: the key is given to another agent as well");
                return Err(Error::new(Code::UsageArguments, message));
            }
            held.keys.agents.push(trusted);
        }
        if self.trusted.is_empty() && self.require != Some(Require::Mac) {
            (held.keys.agents, held.doubt) = trust::trusted(context);
            held.keys.doubted = held.doubt.is_some();
        }
        if held.keys.macs.is_empty() && held.keys.agents.is_empty() {
            return Err(held.doubt.unwrap_or_else(|| {
                no_key("verify")
                    .hint("name the secret's file: --key-file handoff.key")
                    .hint(format!("or take the daemon's secret: export {VARIABLE}=\"$(cat handoff.key)\""))
                    .hint("or name an agent and its public key: --trusted alice=alice.key.pub")
            }));
        }
        Ok(held)
    }
}

/// What an envelope is minted with.
pub(super) enum Minting {
    Mac(Secret),
    Signature(PrivateKey),
}

/// The one key to mint with.
pub(super) fn minting(context: &mut Context, key_file: Option<&Path>, sign_key: Option<&Path>) -> Result<Minting> {
    if let Some(path) = sign_key {
        let bytes = read(path, Some(context))?;
        return PrivateKey::read(&bytes, &path.display().to_string()).map(Minting::Signature);
    }
    let secret = match key_file {
        Some(path) => Some(secret_of_file(context, path)?),
        None => secret_of_variable(context)?,
    };
    secret.map(Minting::Mac).ok_or_else(|| {
        no_key("mint")
            .hint("cruxctl handoff keygen handoff.key")
            .hint("then name it: --key-file handoff.key")
            .hint(format!("or take the daemon's secret: export {VARIABLE}=\"$(cat handoff.key)\""))
    })
}

fn no_key(verb: &str) -> Error {
    Error::new(
        Code::EnvironmentNoKey,
        format!("there is no key to {verb} with: neither a file is named nor is {VARIABLE} set"),
    )
}

/// A public key's file.
pub(super) fn public_key(path: &Path) -> Result<PublicKey> {
    PublicKey::read(&read(path, None)?, &path.display().to_string())
}

fn typed_agent(typed: &str) -> Result<Trusted> {
    let (agent, path) = typed.split_once('=').ok_or_else(|| {
        let message = format!("--trusted {typed:?} is not an agent and its key's file");
        Error::new(Code::UsageArguments, message).hint("write it so: --trusted alice=alice.key.pub")
    })?;
    input::check_agent(agent)?;
    Ok(Trusted { agent: agent.to_owned(), key: public_key(Path::new(path))? })
}

fn secret_of_file(context: &mut Context, path: &Path) -> Result<Secret> {
    let name = path.display().to_string();
    let secret = Secret::from_file(read(path, Some(context))?, &name)?;
    warn_if_short(context, &secret, &name);
    Ok(secret)
}

fn secret_of_variable(context: &mut Context) -> Result<Option<Secret>> {
    let Some(bytes) = env::bytes(VARIABLE) else { return Ok(None) };
    let secret = Secret::from_variable(Zeroizing::new(bytes), VARIABLE)?;
    warn_if_short(context, &secret, VARIABLE);
    Ok(Some(secret))
}

fn warn_if_short(context: &mut Context, secret: &Secret, name: &str) {
    if secret.is_short() {
        let text = format!("the secret of {name} is so short that it can be found by trying");
        context.printer.warn(&text, &["cruxctl handoff keygen handoff.key".to_owned()]);
    }
}

/// A key file's bytes. `private`: others must not read it, and are warned of.
fn read(path: &Path, private: Option<&mut Context>) -> Result<Zeroizing<Vec<u8>>> {
    let failed = |e| Error::io("read the key file", path, &e);
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    let mode = meta.permissions().mode() & 0o777;
    if let Some(context) = private
        && meta.is_file()
        && mode & 0o077 != 0
    {
        let text = format!("the key file {} is open to others: its mode is {mode:04o}", path.display());
        context.printer.warn(&text, &[format!("chmod 600 {}", quoted(&path.to_string_lossy()))]);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > LONGEST {
        let message =
            format!("the key file {} has more than {LONGEST} bytes, and no key is that long", path.display());
        return Err(Error::new(Code::EnvironmentFileKind, message));
    }
    Ok(bytes)
}
