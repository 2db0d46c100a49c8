//! An envelope that is taken: read, held against keys, and judged. Whoever verifies or accepts one goes this way, so
//! that there is no other.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;

use super::keys::KeyArgs;
use super::source::Source;
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::handoff::shown;
use crate::handoff::verify::{self, Conditions, Proven, Verified};

/// Which envelope is taken, and on which conditions.
#[derive(Args, Debug)]
pub struct Take {
    /// Which envelope.
    #[command(flatten)]
    pub source: Source,
    /// Which keys.
    #[command(flatten)]
    pub keys: KeyArgs,
    /// Take no envelope that was made longer ago than this, for example 2h
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub max_age: Option<Duration>,
}

impl Take {
    /// Reads the keys, then the envelope, and holds it against them.
    pub fn prove(&self, context: &mut Context) -> Result<Proven> {
        if let Some(agent) = &context.agent {
            input::check_agent(agent)?;
        }
        self.most_age()?;
        let held = self.keys.held(context)?;
        let text = self.source.read()?;
        verify::prove(&text, &held.keys, self.keys.require.map(super::keys::Require::algorithm)).map_err(|error| {
            match held.doubt {
                Some(doubt) if error.code == Code::EnvironmentNoKey => doubt,
                _ => error,
            }
        })
    }

    /// Judges what was proven as of `now`, and tells what is worth knowing of an envelope that is good.
    pub fn judge<'p>(&self, context: &mut Context, proven: &'p Proven, now: DateTime<Utc>) -> Result<Verified<'p>> {
        let conditions = Conditions { now, receiver: context.agent.as_deref(), max_age: self.most_age()? };
        let verified = proven.judge(&conditions)?;
        if let Some(early) = &verified.early {
            context.printer.warn(early, &[]);
        }
        if verified.could_sign {
            let text = format!(
                "agent {} has a trusted key, and did not sign this: anybody with the secret can say to be that agent",
                shown(&verified.package.source_agent)
            );
            context.printer.warn(&text, &["take signed envelopes alone: --require ed25519".to_owned()]);
        }
        if !verified.others.is_empty() {
            let names: Vec<String> = verified.others.iter().map(|name| shown(name)).collect();
            let text = format!("the envelope has members that nobody vouches for; left out: {}", names.join(", "));
            context.printer.note(&text);
        }
        Ok(verified)
    }

    fn most_age(&self) -> Result<Option<TimeDelta>> {
        let delta = self.max_age.map(TimeDelta::from_std).transpose();
        delta.map_err(|_| Error::new(Code::UsageArguments, "--max-age is longer than time can be told"))
    }
}
