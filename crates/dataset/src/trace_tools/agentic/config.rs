//! The configuration of synthetic sessions, from a JSON file.

use super::blocks::{Blocks, MOST_GLOBAL_BLOCKS, MOST_GROUP_BLOCKS, MOST_GROUPS};
use super::fault::ConfigFault;
use super::lognormal::Lognormal;
use crate::json_kind::kind;
use crate::trace::MOST_TOKENS_IN_ROW;
use crate::trace_tools::lines::{number, shown, whole};
use serde_json::{Map, Value, json};

fn fault<T>(text: impl Into<String>) -> Result<T, ConfigFault> {
    Err(ConfigFault(text.into()))
}

/// The fewest tokens of a response, unless its limit is lower.
const LEAST_OUTPUT: u64 = 30;
const SESSION_ATTEMPTS: u32 = 100;
/// The largest number of tokens: sums of them stay exact.
const MOST_TOKENS: u64 = 1 << 40;
/// The most tokens of a prompt or a response: as many as a run accepts in a row of a trace.
pub(super) const LONGEST: u64 = MOST_TOKENS_IN_ROW as u64;
/// Milliseconds of a delay, some thirty years: one that is drawn may be endless.
pub(super) const LONGEST_DELAY: f64 = 1e12;

/// The properties of sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct AgenticConfig {
    pub(super) new_tokens: Lognormal,
    /// A factor for the mean and the median of new tokens: long turns end sessions early and are then missing.
    pub(super) bias: f64,
    pub(super) output: Lognormal,
    pub(super) agentic_fraction: f64,
    pub(super) agentic_delay: Lognormal,
    pub(super) human_delay: Lognormal,
    pub(super) longest_delay: Option<f64>,
    pub(super) reset: Option<Reset>,
    pub(super) turns: Option<Turns>,
    pub(super) max_prompt: u64,
    pub(super) block_size: u64,
    pub(super) global_tokens: u64,
    pub(super) group_tokens: u64,
    pub(super) own_tokens: Lognormal,
    pub(super) groups: u32,
    pub(super) zipf_alpha: f64,
    pub(super) restart: f64,
    pub(super) restart_turns: (u64, u64),
}

/// The probability that a session ends with a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reset {
    pub(super) base: f64,
    pub(super) scaling: f64,
}

/// The number of turns of a session, if it is configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turns {
    pub(super) spread: Lognormal,
    pub(super) min: u64,
    pub(super) max: u64,
    /// How often a session is made again until its turns fit; `None` cuts it off instead.
    pub(super) attempts: Option<u32>,
}

impl Default for AgenticConfig {
    fn default() -> Self {
        Self {
            new_tokens: Lognormal::new(3500.0, 1800.0),
            bias: 1.0,
            output: Lognormal::new(500.0, 300.0),
            agentic_fraction: 0.7,
            agentic_delay: Lognormal::new(2500.0, 1800.0),
            human_delay: Lognormal::new(40_000.0, 25_000.0),
            longest_delay: None,
            reset: Some(Reset { base: 0.02, scaling: 2.0 }),
            turns: None,
            max_prompt: 200_000,
            block_size: 512,
            global_tokens: 32_000,
            group_tokens: 20_000,
            own_tokens: Lognormal::new(10_000.0, 5000.0),
            groups: 50,
            zipf_alpha: 1.2,
            restart: 0.0,
            restart_turns: (5, 15),
        }
    }
}

impl AgenticConfig {
    /// Reads a configuration, or the manifest of a generated data set.
    pub fn read(text: &str) -> Result<Self, ConfigFault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut members = match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Members { at: String::new(), members },
            Ok(other) => return fault(format!("is {}, and a configuration is a JSON object", kind(&other))),
            Err(error) => return fault(format!("is not JSON: {error}")),
        };
        if let Some(params) = members.section("generation_params")? {
            return Self::of(params);
        }
        members.take("$schema");
        Self::of(members)
    }

    fn of(mut from: Members) -> Result<Self, ConfigFault> {
        let usual = Self::default();
        let mut config = usual.clone();
        if let Some(mut section) = from.section("new_tokens_per_turn")? {
            config.bias = section.above("bias", 0.0)?.unwrap_or(1.0);
            config.new_tokens = section.lognormal()?;
        }
        if let Some(section) = from.section("generation_length")? {
            config.output = section.lognormal()?;
        }
        if let Some(mut delay) = from.section("inter_turn_delay")? {
            config.agentic_fraction = delay.between("agentic_fraction", 0.0, 1.0)?.unwrap_or(usual.agentic_fraction);
            for (name, spread) in
                [("agentic_delay", &mut config.agentic_delay), ("human_delay", &mut config.human_delay)]
            {
                if let Some(section) = delay.section(name)? {
                    *spread = section.lognormal()?;
                }
            }
            config.longest_delay = delay.between("max", 0.0, LONGEST_DELAY)?;
            delay.end()?;
        }
        let is_reset_null = from.members.get("reset").is_some_and(Value::is_null);
        let mut has_reset = false;
        match from.section("reset")? {
            Some(mut reset) => {
                has_reset = true;
                let base = reset.between("base_probability", 0.0, 1.0)?.unwrap_or(0.02);
                let scaling = reset.between("context_scaling", 1.0, f64::MAX)?.unwrap_or(2.0);
                config.reset = Some(Reset { base, scaling });
                reset.end()?;
            }
            None if is_reset_null => config.reset = None,
            None => {}
        }
        if let Some(section) = from.section("turns")? {
            if has_reset {
                return fault("turns and reset exclude each other\n  try: one of them");
            }
            config.reset = None;
            config.turns = Some(section.turns()?);
        }
        config.max_prompt = from.tokens("max_prompt_tokens", 2)?.unwrap_or(usual.max_prompt);
        config.block_size = from.tokens("block_size", 1)?.unwrap_or(usual.block_size);
        if let Some(mut cache) = from.section("cache")? {
            config.global_tokens = cache.tokens("layer1_tokens", 0)?.unwrap_or(usual.global_tokens);
            config.group_tokens = cache.tokens("layer1_5_tokens", 0)?.unwrap_or(usual.group_tokens);
            if let Some(section) = cache.section("layer2")? {
                config.own_tokens = section.lognormal()?;
            }
            if let Some(mut groups) = cache.section("layer1_5_groups")? {
                let count = groups.tokens("num_groups", 1)?.unwrap_or(u64::from(usual.groups));
                config.groups = u32::try_from(count).unwrap_or(u32::MAX);
                config.zipf_alpha = groups.between("zipf_alpha", 0.0, 100.0)?.unwrap_or(usual.zipf_alpha);
                groups.end()?;
            }
            cache.end()?;
        }
        let older = from.between("restart_fraction", 0.0, 1.0)?;
        config.restart = from.between("restart_initial_probability", 0.0, 1.0)?.or(older).unwrap_or(0.0);
        if let Some(range) = from.take("restart_turn_range") {
            let ends: Option<Vec<u64>> = range.as_array().map(|ends| ends.iter().filter_map(Value::as_u64).collect());
            config.restart_turns = match ends.as_deref() {
                Some([low, high]) if (1..*high).contains(low) => (*low, *high),
                _ => return fault(format!("restart_turn_range must be [from 1, below], not {}", shown(&range))),
            };
        }
        from.end()?;
        config.checked()
    }

    /// Tokens per hash id.
    pub fn block_size(&self) -> u64 {
        self.block_size
    }

    /// The blocks of its prompts.
    pub(super) fn blocks(&self) -> Blocks {
        Blocks::new(self.block_size, self.global_tokens, self.group_tokens)
    }

    /// With a limit of tokens of a prompt.
    pub fn with_max_input(mut self, tokens: u64) -> Result<Self, ConfigFault> {
        self.max_prompt = tokens;
        self.checked()
    }

    /// Sets the limit for tokens of a response.
    pub fn with_max_output(mut self, tokens: u64) -> Result<Self, ConfigFault> {
        self.output.max = Some(tokens as f64);
        self.checked()
    }

    /// The fewest tokens of a response.
    pub(super) fn least_output(&self) -> u64 {
        self.output.max.map_or(LEAST_OUTPUT, |max| LEAST_OUTPUT.min(max as u64)).max(1)
    }

    fn checked(self) -> Result<Self, ConfigFault> {
        let spreads = [
            ("generation_length", &self.output),
            ("new_tokens_per_turn", &self.new_tokens),
            ("cache.layer2", &self.own_tokens),
        ];
        for (name, Lognormal { min, max, .. }) in spreads {
            if let (Some(min), Some(max)) = (min, max)
                && min > max
            {
                return fault(format!("{name}: min {min} is above max {max}"));
            }
        }
        if !(2..=LONGEST).contains(&self.max_prompt) {
            return fault(format!(
                "max_prompt_tokens must be from 2 to {LONGEST}, not {}\n  try: 200000 (--max-isl)",
                self.max_prompt
            ));
        }
        if self.output.max.is_some_and(|max| max < 1.0) {
            return fault("generation_length.max leaves no room for a response\n  try: 1 or more (--max-osl)");
        }
        if self.groups > MOST_GROUPS {
            return fault(format!("num_groups {} is more than {MOST_GROUPS}, for which there are ids", self.groups));
        }
        let Blocks { global, group, .. } = self.blocks();
        if global > MOST_GLOBAL_BLOCKS {
            return fault(format!(
                "layer1_tokens {} are {global} blocks, which every session would name, and {MOST_GLOBAL_BLOCKS} are the \
                 most\n  try: a larger block_size than {}, or fewer tokens",
                self.global_tokens, self.block_size
            ));
        }
        if group > MOST_GROUP_BLOCKS {
            return fault(format!(
                "layer1_5_tokens {} are {group} blocks, and there are ids for {MOST_GROUP_BLOCKS}\n  try: a larger block_size \
                 than {}, or fewer tokens",
                self.group_tokens, self.block_size
            ));
        }
        if let Some(turns) = &self.turns {
            self.check_turns(turns)?;
        }
        Ok(self)
    }

    fn check_turns(&self, turns: &Turns) -> Result<(), ConfigFault> {
        if self.restart != 0.0 {
            return fault("turns and restart_initial_probability exclude each other\n  try: one of them");
        }
        let least = |spread: &Lognormal| spread.min.map_or(1, |min| min as u64).max(1);
        let first = self.blocks().prefix_tokens() + least(&self.own_tokens);
        let more = self.least_output() + least(&self.new_tokens);
        let turn_count = if turns.attempts.is_some() { turns.min } else { 1 };
        let tokens = more.saturating_mul(turn_count - 1).saturating_add(first);
        if tokens < self.max_prompt {
            return Ok(());
        }
        fault(format!(
            "{turn_count} turns have {tokens} tokens at least, and max_prompt_tokens is {}\n  try: fewer turns (turns.min), \
             allow_truncation, or a larger max_prompt_tokens (--max-isl)",
            self.max_prompt
        ))
    }

    /// The form in the manifest.
    pub(super) fn json(&self) -> Value {
        let mut new_tokens = self.new_tokens.json();
        new_tokens["bias"] = json!(self.bias);
        json!({
            "new_tokens_per_turn": new_tokens,
            "generation_length": self.output.json(),
            "inter_turn_delay": {
                "agentic_fraction": self.agentic_fraction,
                "agentic_delay": self.agentic_delay.json(),
                "human_delay": self.human_delay.json(),
                "max": self.longest_delay,
            },
            "reset": self.reset.map(|reset| json!({"base_probability": reset.base, "context_scaling": reset.scaling})),
            "turns": self.turns.map(|turns| json!({
                "mean": turns.spread.mean as u64, "median": turns.spread.median as u64, "min": turns.min, "max": turns.max,
                "allow_truncation": turns.attempts.is_none(), "max_session_attempts": turns.attempts,
            })),
            "max_prompt_tokens": self.max_prompt,
            "block_size": self.block_size,
            "cache": {
                "layer1_tokens": self.global_tokens,
                "layer1_5_tokens": self.group_tokens,
                "layer2": self.own_tokens.json(),
                "layer1_5_groups": {"num_groups": self.groups, "zipf_alpha": self.zipf_alpha},
            },
            "restart_initial_probability": self.restart,
            "restart_turn_range": [self.restart_turns.0, self.restart_turns.1],
        })
    }
}

/// Members of an object that have not been taken yet.
struct Members {
    /// Its path, with a dot at the end.
    at: String,
    members: Map<String, Value>,
}

impl Members {
    /// Takes a member that is present and not null, by its name or in `camelCase`.
    fn take(&mut self, name: &str) -> Option<Value> {
        let camel: String = name
            .split('_')
            .enumerate()
            .map(|(at, word)| if at == 0 { word.to_owned() } else { word[..1].to_uppercase() + &word[1..] })
            .collect();
        self.members.remove(name).or_else(|| self.members.remove(&camel)).filter(|value| !value.is_null())
    }

    fn section(&mut self, name: &str) -> Result<Option<Self>, ConfigFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(Self { at: format!("{}{name}.", self.at), members })),
            Some(other) => fault(format!("{}{name} must be an object, not {}", self.at, kind(&other))),
        }
    }

    fn between(&mut self, name: &str, least: f64, most: f64) -> Result<Option<f64>, ConfigFault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match number(&value).filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None if most == f64::MAX => {
                fault(format!("{}{name} must be a number of at least {least}, not {}", self.at, shown(&value)))
            }
            None => fault(format!("{}{name} must be a number from {least} to {most}, not {}", self.at, shown(&value))),
        }
    }

    fn above(&mut self, name: &str, least: f64) -> Result<Option<f64>, ConfigFault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match number(&value).filter(|number| *number > least && *number <= MOST_TOKENS as f64) {
            Some(number) => Ok(Some(number)),
            None => fault(format!("{}{name} must be a number above {least}, not {}", self.at, shown(&value))),
        }
    }

    fn tokens(&mut self, name: &str, least: u64) -> Result<Option<u64>, ConfigFault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match whole(&value).filter(|number| (i128::from(least)..=i128::from(MOST_TOKENS)).contains(number)) {
            Some(number) => Ok(Some(number as u64)),
            None => {
                fault(format!("{}{name} must be a whole number of at least {least}, not {}", self.at, shown(&value)))
            }
        }
    }

    fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T, ConfigFault> {
        value.map_or_else(|| fault(format!("{}{name} is missing", self.at)), Ok)
    }

    fn lognormal(mut self) -> Result<Lognormal, ConfigFault> {
        let (mean, median) = (self.above("mean", 0.0)?, self.above("median", 0.0)?);
        let (mean, median) = (self.needed("mean", mean)?, self.needed("median", median)?);
        self.ordered(mean, median)?;
        let (mu, sigma) = (self.between("mu", -100.0, 100.0)?, self.between("sigma", 0.0, 100.0)?);
        let spread = Lognormal::new(mean, median);
        let spread = match (mu, sigma) {
            (Some(mu), Some(sigma)) => Lognormal { mu, sigma, ..spread },
            (None, None) => spread,
            _ => return fault(format!("{}mu and {}sigma must be set together", self.at, self.at)),
        };
        let (min, max) = (self.above("min", 0.0)?, self.above("max", 0.0)?);
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            return fault(format!("{}min {min} is above {}max {max}", self.at, self.at));
        }
        self.end()?;
        Ok(Lognormal { min, max, ..spread })
    }

    fn ordered(&self, mean: f64, median: f64) -> Result<(), ConfigFault> {
        if mean >= median {
            return Ok(());
        }
        let at = &self.at;
        fault(format!("{at}mean {mean} is below {at}median {median}, which no lognormal distribution has"))
    }

    fn turns(mut self) -> Result<Turns, ConfigFault> {
        let mut count = |name: &str| {
            let value = self.tokens(name, 1)?;
            self.needed(name, value)
        };
        let (mean, median, min, max) = (count("mean")?, count("median")?, count("min")?, count("max")?);
        self.ordered(mean as f64, median as f64)?;
        if min > median || mean > max {
            return fault("turns: min must not be above median, nor mean above max");
        }
        let truncates = match self.take("allow_truncation") {
            None => false,
            Some(Value::Bool(truncates)) => truncates,
            Some(other) => {
                return fault(format!("{}allow_truncation must be true or false, not {}", self.at, shown(&other)));
            }
        };
        let attempts = self.tokens("max_session_attempts", 1)?.map(|tries| u32::try_from(tries).unwrap_or(u32::MAX));
        if truncates && attempts.is_some() {
            return fault("turns: max_session_attempts has no meaning with allow_truncation\n  try: one of them");
        }
        self.end()?;
        let spread =
            Lognormal { min: Some(min as f64), max: Some(max as f64), ..Lognormal::new(mean as f64, median as f64) };
        Ok(Turns { spread, min, max, attempts: (!truncates).then(|| attempts.unwrap_or(SESSION_ATTEMPTS)) })
    }

    /// Refuses members that were not taken: they would have no effect. Null is allowed.
    fn end(self) -> Result<(), ConfigFault> {
        match self.members.iter().find(|(_, value)| !value.is_null()) {
            Some((name, _)) => {
                fault(format!("{}{name} is no setting of this configuration\n  try: leave it out", self.at))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        AgenticConfig::read(text).expect_err("refused").to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_and_a_manifest_restores_its_configuration() {
        assert_eq!(AgenticConfig::read("{}").unwrap(), AgenticConfig::default());
        let turns = r#"{"turns": {"mean": 6, "median": 5, "min": 2, "max": 9}, "newTokensPerTurn": {"mean": 9, "median": 9, "bias": 2}}"#;
        for config in [AgenticConfig::default(), AgenticConfig::read(turns).unwrap()] {
            let manifest = json!({"seed": 1, "generation_params": config.json()}).to_string();
            assert_eq!(AgenticConfig::read(&manifest).unwrap(), config);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, wanted) in [
            ("[]", "is a list"),
            (r#"{"reset": {"base_probability": 2}}"#, "reset.base_probability must be a number from 0 to 1, not 2"),
            (r#"{"cache": {"layer2": {"mean": 5}}}"#, "cache.layer2.median is missing"),
            (r#"{"generation_length": {"mean": 5, "median": 9}}"#, "generation_length.mean 5 is below"),
            (r#"{"generation_lenght": {}}"#, "generation_lenght is no setting"),
            (r#"{"cache": {"layer1_5_groups": {"num_groups": 1001}}}"#, "num_groups 1001 is more than 1000"),
            (r#"{"cache": {"layer1_5_tokens": 20000}, "block_size": 64}"#, "are 313 blocks, and there are ids for 200"),
            (r#"{"cache": {"layer1_tokens": 1000000000}}"#, "are 1953125 blocks"),
            (r#"{"restart_turn_range": [5, 5]}"#, "restart_turn_range must be"),
            (r#"{"turns": {"mean": 6, "median": 5, "min": 2, "max": 9}, "reset": {"base_probability": 1}}"#, "exclude"),
            (r#"{"turns": {"mean": 6, "median": 5, "min": 2, "max": 9}, "restart_fraction": 0.1}"#, "exclude"),
            (r#"{"turns": {"mean": 6, "median": 5, "min": 2, "max": 9}, "max_prompt_tokens": 52760}"#, "2 turns have"),
        ] {
            assert!(refused(text).contains(wanted), "{text}: {}", refused(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), number in any::<f64>(), name in 0_usize..6) {
            let _ = AgenticConfig::read(&text);
            let name = ["mean", "median", "min", "max", "mu", "sigma"][name];
            let _ = AgenticConfig::read(&json!({"generation_length": {"mean": 5, "median": 5, name: number}}).to_string());
        }
    }
}
