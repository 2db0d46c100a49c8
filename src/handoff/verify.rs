//! An envelope held against keys, and a package against who takes it and when.
//!
//! The order is a promise: nothing of the payload is parsed before a key vouches for its bytes, and nobody gets at the
//! bytes before everything holds. [`prove`] gives a [`Proven`] that keeps them to itself; [`Proven::judge`] gives a
//! [`Verified`].

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::envelope::Envelope;
use super::keys::{MAC, MacKey};
use super::package::Package;
use super::signature::{self, ED25519, PublicKey};
use super::{shown, without_the_word};
use crate::error::{Code, Error, Result};

/// How far two clocks may differ.
pub const LEEWAY: TimeDelta = TimeDelta::seconds(60);

/// How an envelope is vouched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A MAC with a secret that both sides have.
    Mac,
    /// An agent's own signature.
    Ed25519,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 2] = [Algorithm::Mac, Algorithm::Ed25519];

    /// The name in an envelope.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Mac => MAC,
            Algorithm::Ed25519 => ED25519,
        }
    }
}

/// A key that an agent signs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// Whose it is.
    pub agent: String,
    /// The key.
    pub key: PublicKey,
}

/// What an envelope is held against. An algorithm without any key is not taken.
#[derive(Debug, Default)]
pub struct Keys {
    /// Secrets; all are tried.
    pub macs: Vec<MacKey>,
    /// Agents' keys; all are tried.
    pub agents: Vec<Trusted>,
    /// Whether there are keys of agents that cannot be believed.
    pub doubted: bool,
}

/// The key that vouches for a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A secret that both sides have.
    Mac,
    /// This agent's own key.
    Agent(String),
}

/// A payload that a key vouches for.
pub struct Proven {
    payload: Vec<u8>,
    content_hash: blake3::Hash,
    by: By,
    key_id: String,
    others: Vec<String>,
    /// Agents that a key is known of, where a MAC vouches.
    signers: Vec<String>,
}

/// When and by whom a package is taken.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'c> {
    /// The clock here.
    pub now: DateTime<Utc>,
    /// The agent that takes it.
    pub receiver: Option<&'c str>,
    /// The greatest age that is taken.
    pub max_age: Option<TimeDelta>,
}

/// A package for which everything holds.
#[derive(Debug)]
pub struct Verified<'p> {
    /// The exact bytes that the key vouches for.
    pub payload: &'p [u8],
    /// What they mean.
    pub package: Package<'p>,
    /// Their hash.
    pub content_hash: blake3::Hash,
    /// Which key vouches for them.
    pub by: &'p By,
    /// That key's id.
    pub key_id: &'p str,
    /// Members of the envelope that no envelope has: to be told, never passed on.
    pub others: &'p [String],
    /// Whether a key of its source agent is known, and that agent did not sign it.
    pub could_sign: bool,
    /// Whether it was created ahead of the clock here, and what the clocks say.
    pub early: Option<String>,
}

/// Holds an envelope against keys. `only`: the one algorithm that is taken.
pub fn prove(text: &[u8], keys: &Keys, only: Option<Algorithm>) -> Result<Proven> {
    proven(text, keys, only).map_err(without_the_word)
}

fn proven(text: &[u8], keys: &Keys, only: Option<Algorithm>) -> Result<Proven> {
    let envelope = Envelope::read(text)?;
    let algorithm = algorithm(&envelope, keys, only)?;
    let payload = envelope.payload()?;
    let (said, content_hash) = (envelope.hash()?, blake3::hash(&payload));
    if said != content_hash {
        let message = format!(
            "the payload is not the one that the envelope was made for: its hash is {content_hash}, not {said}"
        );
        return Err(Error::new(Code::RejectedHash, message));
    }
    let (by, key_id) = match algorithm {
        Algorithm::Mac => {
            let mac = blake3::Hash::from(envelope.signature::<32>()?);
            // All of them, so that time does not tell which.
            let fits =
                keys.macs.iter().fold(None, |found, key| if key.mac(&payload) == mac { Some(key) } else { found });
            (By::Mac, fits.ok_or_else(|| no_mac(keys.macs.len()))?.key_id())
        }
        Algorithm::Ed25519 => {
            let (signature, message) = (envelope.signature::<64>()?, signature::message(&payload));
            let fits = keys.agents.iter().find(|trusted| trusted.key.signed(&message, &signature));
            let trusted = fits.ok_or_else(|| no_signature(&keys.agents))?;
            (By::Agent(trusted.agent.clone()), trusted.key.key_id())
        }
    };
    let signers = match by {
        By::Mac => keys.agents.iter().map(|trusted| trusted.agent.clone()).collect(),
        By::Agent(_) => Vec::new(),
    };
    Ok(Proven { payload, content_hash, by, key_id, others: envelope.others, signers })
}

/// The algorithm of an envelope, where it is one for which there are keys.
fn algorithm(envelope: &Envelope<'_>, keys: &Keys, only: Option<Algorithm>) -> Result<Algorithm> {
    let rejected = |message: String| Error::new(Code::RejectedAlgorithm, message);
    let named = shown(&envelope.signature_alg);
    let known = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == envelope.signature_alg);
    let algorithm =
        known.ok_or_else(|| rejected(format!("{named} is none of the algorithms {MAC} and {ED25519}")))?;
    if let Some(only) = only.filter(|only| *only != algorithm) {
        return Err(rejected(format!("the algorithm is {named}, and only {} is taken", only.name())));
    }
    match algorithm {
        Algorithm::Mac if keys.macs.is_empty() => {
            let message = format!(
                "the algorithm is {named}, and there are only keys of agents: a secret that is shared names nobody"
            );
            Err(rejected(message).hint("give the secret as well: --key-file FILE"))
        }
        Algorithm::Ed25519 if keys.agents.is_empty() && keys.doubted => {
            Err(Error::new(Code::EnvironmentNoKey, "no agent's key can be believed here"))
        }
        Algorithm::Ed25519 if keys.agents.is_empty() => {
            let message = format!("the algorithm is {named}, and no agent's key is known here");
            Err(rejected(message)
                .hint("name the agent and its public key, if you trust it: --trusted alice=alice.key.pub"))
        }
        algorithm => Ok(algorithm),
    }
}

fn no_mac(keys: usize) -> Error {
    let keys = if keys == 1 { "the key".to_owned() } else { format!("any of the {keys} keys") };
    let message = format!("the MAC does not fit {keys}: the payload was altered, or minted with another secret");
    Error::new(Code::RejectedMac, message)
        .hint("minted by a daemon? without CRUX_MCP_HANDOFF_SECRET its key changes with every restart")
        .hint("minted with another secret? name each one that may be meant: --key-file FILE --key-file OTHER")
}

fn no_signature(agents: &[Trusted]) -> Error {
    let mut names: Vec<&str> = agents.iter().map(|trusted| &*trusted.agent).collect();
    names.sort_unstable();
    names.dedup();
    let trusted =
        if names.len() == 1 { "1 trusted agent".to_owned() } else { format!("{} trusted agents", names.len()) };
    let message = format!(
        "the signature is by none of the keys of {trusted}: the payload was altered, or signed by another key"
    );
    Error::new(Code::RejectedMac, message).hint("which keys are trusted? cruxctl handoff trust list")
}

impl Proven {
    /// The payload's hash.
    #[must_use]
    pub fn content_hash(&self) -> blake3::Hash {
        self.content_hash
    }

    /// Holds the package against who takes it and when.
    pub fn judge(&self, conditions: &Conditions<'_>) -> Result<Verified<'_>> {
        self.judged(conditions).map_err(without_the_word)
    }

    fn judged(&self, conditions: &Conditions<'_>) -> Result<Verified<'_>> {
        let package = Package::read(&self.payload).map_err(|fault| {
            Error::new(Code::RejectedPayload, format!("the payload is no handoff package: {}", fault.why))
        })?;
        check_agents(&package, &self.by, conditions.receiver)?;
        let early = check_times(&package, conditions)?;
        Ok(Verified {
            payload: &self.payload,
            could_sign: self.signers.iter().any(|agent| *agent == package.source_agent),
            package,
            content_hash: self.content_hash,
            by: &self.by,
            key_id: &self.key_id,
            others: &self.others,
            early,
        })
    }
}

fn check_agents(package: &Package<'_>, by: &By, receiver: Option<&str>) -> Result<()> {
    if let By::Agent(agent) = by
        && *agent != package.source_agent
    {
        let message =
            format!("it was signed by {}, and says to come from {}", shown(agent), shown(&package.source_agent));
        return Err(Error::new(Code::RejectedSource, message));
    }
    let here = || {
        receiver
            .map_or("no agent is named here (--agent)".to_owned(), |own| format!("the agent here is {}", shown(own)))
    };
    if let Some(target) = package.target_agent.as_deref()
        && receiver != Some(target)
    {
        return Err(Error::new(Code::RejectedTarget, format!("it is for {}, and {}", shown(target), here())));
    }
    match package.private_facts() {
        private if private > 0 && receiver.is_none() => {
            let message = format!("{private} of its facts are private, and {}", here());
            Err(Error::new(Code::RejectedReceiver, message).hint("name the agent that takes it: --agent AGENT"))
        }
        _ => Ok(()),
    }
}

/// Says, where a package is ahead of the clock here, what both clocks say.
fn check_times(package: &Package<'_>, conditions: &Conditions<'_>) -> Result<Option<String>> {
    let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let now = conditions.now;
    let clocks = format!("the clock here says {}, and 60 s of leeway are given", text(now));
    if let Some(at) = package.expires_at
        && now - at >= LEEWAY
    {
        let message = format!("it has expired: at {}, and {clocks}", text(at));
        return Err(Error::new(Code::RejectedExpired, message));
    }
    let age = now - package.created_at;
    if let Some(most) = conditions.max_age
        && age.checked_sub(&LEEWAY).is_some_and(|age| age >= most)
    {
        let message = format!("it is older than --max-age: created at {}, and {clocks}", text(package.created_at));
        return Err(Error::new(Code::RejectedExpired, message));
    }
    let early = age <= -LEEWAY;
    if early && conditions.max_age.is_some() {
        let message = format!(
            "its age for --max-age cannot be told: it was created ahead of the clock here, at {}, and {clocks}",
            text(package.created_at)
        );
        return Err(Error::new(Code::RejectedExpired, message));
    }
    Ok(early
        .then(|| format!("it was created ahead of the clock here: at {}, and {clocks}", text(package.created_at))))
}
