//! All sessions, in order of arrival.

use super::AgenticPlan;
use super::fault::ConfigFault;
use super::session::{Maker, Session};
use aiperf_plan::Draws;
use aiperf_plan::draw::Purpose;
use rand::RngExt;
use std::collections::BTreeSet;

/// Only sessions of the first three quarters may continue as others.
const RESTARTED: f64 = 0.75;
/// The least distance of a continuation from its session, as a share of all sessions.
const APART: f64 = 0.25;

/// Makes sessions one after another. A session is a function of the plan and its index. So a continuation is made again
/// when it is due, and not stored until then.
pub(super) struct Sessions<'a> {
    maker: Maker<'a>,
    count: u64,
    next: u64,
    of_session: Purpose,
    of_restart: Purpose,
    restart: f64,
    restart_turns: (u64, u64),
    /// Continuations: the session that each precedes, and its origin.
    seconds: BTreeSet<(u64, u64)>,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(plan: &'a AgenticPlan) -> Self {
        let config = &plan.config;
        let draws = Draws::new(Some(plan.seed), "");
        Self {
            maker: Maker::new(config, config.blocks()),
            count: plan.sessions,
            next: 0,
            of_session: draws.purpose("agentic.session"),
            of_restart: draws.purpose("agentic.restart"),
            restart: config.restart,
            restart_turns: config.restart_turns,
            seconds: BTreeSet::new(),
        }
    }

    /// A session, and its continuation with the position of it.
    fn make(&self, index: u64) -> Result<(Session, Option<(u64, Session)>), ConfigFault> {
        let count = self.count;
        let mut restart = self.of_restart.at(index);
        let likely = self.restart * (1.0 - index as f64 / (RESTARTED * count as f64)).max(0.0);
        let (low, high) = self.restart_turns;
        let split = (restart.random::<f64>() < likely).then(|| restart.random_range(low..high));
        let (first, second) = self.maker.make(index, split, &mut self.of_session.at(index))?;
        let earliest = (index + (APART * count as f64).ceil() as u64).clamp(index + 1, count);
        Ok((first, second.map(|second| (restart.random_range(earliest..=count), second))))
    }

    fn following(&mut self) -> Result<Option<Session>, ConfigFault> {
        if self.seconds.first().is_some_and(|(place, _)| *place <= self.next)
            && let Some((_, index)) = self.seconds.pop_first()
        {
            return Ok(self.make(index)?.1.map(|(_, second)| second));
        }
        if self.next == self.count {
            return Ok(None);
        }
        let index = self.next;
        let (first, second) = self.make(index)?;
        self.next += 1;
        self.seconds.extend(second.map(|(place, _)| (place, index)));
        Ok(Some(first))
    }
}

impl Iterator for Sessions<'_> {
    type Item = Result<Session, ConfigFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.following().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::LONGEST;
    use super::super::session::End;
    use super::super::{AgenticConfig, MakeError, TRACE};
    use super::*;
    use crate::trace_tools::lines::Lines;
    use crate::trace_tools::validate::Validation;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::HashMap;
    use std::io::Cursor;

    fn plan(config: &str, sessions: u64, seed: u64) -> AgenticPlan {
        AgenticPlan { config: AgenticConfig::read(config).unwrap(), name: "c".into(), sessions, seed }
    }

    fn all(plan: &AgenticPlan) -> Vec<Session> {
        Sessions::new(plan).collect::<Result<_, _>>().unwrap()
    }

    fn files(plan: &AgenticPlan) -> Result<HashMap<&'static str, Vec<u8>>, MakeError> {
        let mut files = HashMap::new();
        plan.make(|name, write| {
            let mut file = Vec::new();
            write(&mut file)?;
            files.insert(name, file);
            Ok(())
        })?;
        Ok(files)
    }

    fn validation(trace: Vec<u8>, block_size: u64) -> Validation {
        Validation::of(Lines::of("t".into(), Cursor::new(trace)).unwrap(), Some(block_size)).unwrap()
    }

    #[test]
    fn the_same_plan_makes_the_same_files_and_another_seed_others() {
        let files = |seed| files(&plan("{}", 20, seed)).unwrap();
        assert_eq!(files(1), files(1));
        assert_ne!(files(1)[TRACE], files(2)[TRACE]);
    }

    #[test]
    fn a_session_does_not_depend_on_how_many_there_are() {
        let ids = |count| all(&plan("{}", count, 1)).into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(5), ids(9)[..5]);
    }

    #[test]
    fn contexts_grow_by_each_turn_and_stay_below_the_limit() {
        let made = all(&plan("{}", 200, 3));
        for session in &made {
            for pair in session.turns.windows(2) {
                assert_eq!(pair[1].input, pair[0].input + pair[0].output + pair[1].new);
                assert!(pair[1].delay_ms > 0.0);
            }
            assert!(session.turns.iter().all(|turn| turn.input < 200_000 && turn.output >= 30));
        }
        let first = made.iter().filter(|session| session.group == 0).count();
        assert!((40..120).contains(&first), "{first} of 200 are of the first group");
    }

    #[test]
    fn a_continuation_has_another_id_the_same_blocks_and_comes_later() {
        let plan = plan(r#"{"restart_initial_probability": 1, "reset": null}"#, 40, 5);
        let (made, blocks) = (all(&plan), plan.config.blocks());
        let restarted: Vec<_> = made.iter().enumerate().filter(|(_, session)| session.is_restart).collect();
        assert!(restarted.len() > 5, "{}", restarted.len());
        for (place, second) in restarted {
            let (at, first) = made.iter().enumerate().find(|(_, one)| one.index == second.index).unwrap();
            assert!(first.id != second.id && first.end == End::RestartSplit && (5..15).contains(&first.turns.len()));
            assert!(place >= at + 10, "{place} after {at}");
            assert!(second.first_ids(&blocks).starts_with(&first.first_ids(&blocks)));
        }
    }

    #[test]
    fn turns_are_as_many_as_asked_for() {
        let turns = r#"{"turns": {"mean": 6, "median": 5, "min": 2, "max": 9}}"#;
        let made = all(&plan(turns, 100, 5));
        assert!(made.iter().all(|one| (2..=9).contains(&one.turns.len()) && one.end == End::TargetTurns));
        let cut = r#"{"turns": {"mean": 60, "median": 60, "min": 60, "max": 60, "allow_truncation": true}, "max_prompt_tokens": 60000}"#;
        let made = all(&plan(cut, 10, 5));
        assert!(made.iter().all(|one| one.turns.len() < 60 && one.end == End::ForcedRetire));
    }

    #[test]
    fn a_prompt_with_more_blocks_than_ids_is_refused_with_the_way_out() {
        let small = r#"{"block_size": 16, "cache": {"layer1_5_tokens": 0}, "reset": null}"#;
        let error = files(&plan(small, 1, 5)).expect_err("refused").to_string();
        assert!(error.contains("there are ids for 4000") && error.contains("block_size"), "{error}");
    }

    #[test]
    fn sessions_that_never_end_are_refused() {
        let endless = r#"{"max_prompt_tokens": 10000000, "reset": null, "block_size": 2500000,
            "new_tokens_per_turn": {"mean": 1, "median": 1}, "generation_length": {"mean": 30, "median": 30}}"#;
        let error = files(&plan(endless, 1, 5)).expect_err("refused").to_string();
        assert!(error.contains("more than 10000 turns"), "{error}");
    }

    #[test]
    fn the_trace_is_one() {
        for config in
            ["{}", r#"{"restart_initial_probability": 1}"#, r#"{"cache": {"layer1_tokens": 0, "layer1_5_tokens": 0}}"#]
        {
            let mut made = files(&plan(config, 20, 7)).unwrap();
            let found = validation(made.remove(TRACE).unwrap(), 512);
            let turns: usize = all(&plan(config, 20, 7)).iter().map(|session| session.turns.len()).sum();
            assert_eq!((found.fault_count, found.rows), (0, turns as u64));
        }
    }

    #[test]
    fn responses_are_no_longer_than_a_run_accepts() {
        let long = r#"{"generation_length": {"mean": 500000000000, "median": 3000}, "max_prompt_tokens": 2}"#;
        let plan = plan(long, 40, 557);
        assert!(all(&plan).iter().any(|session| session.turns[0].output == LONGEST));
        let found = validation(files(&plan).unwrap().remove(TRACE).unwrap(), 512);
        assert_eq!((found.fault_count, found.rows), (0, 40));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_configuration_is_made_or_refused(
            numbers in prop::collection::vec(prop_oneof![Just(0.0_f64), 0.0..2.0, 1.0..1e4, 1.0..1e13, Just(1e-300)], 10),
            whole in prop::collection::vec(prop_oneof![0_u64..3, 1_u64..1000, 1_u64..1 << 41], 4),
            sigma in 0.0..100.0,
        ) {
            let spread = |at: usize| json!({"mean": numbers[at].max(numbers[at + 1]), "median": numbers[at].min(numbers[at + 1])});
            let config = json!({
                "new_tokens_per_turn": spread(0), "generation_length": spread(2),
                "inter_turn_delay": {"human_delay": {"mean": 5, "median": 5, "mu": numbers[4].min(100.0), "sigma": sigma}},
                "cache": {"layer1_tokens": whole[0], "layer2": spread(5)}, "block_size": whole[1], "max_prompt_tokens": whole[2],
                "restart_initial_probability": numbers[7].min(1.0), "reset": {"base_probability": numbers[8].min(1.0)},
            });
            if let Ok(config) = AgenticConfig::read(&config.to_string()) {
                let block_size = config.block_size;
                let plan = AgenticPlan { config, name: "c".into(), sessions: 3, seed: whole[3] };
                if let Ok(files) = files(&plan) {
                    let found = validation(files[TRACE].clone(), block_size);
                    prop_assert_eq!(found.fault_count, 0);
                }
            }
        }
    }
}
