//! Jobs that continue after their request got a response; clients poll them until they are done.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Jobs remembered; the oldest are forgotten first.
const MOST_JOBS: usize = 100_000;

/// The defaults of a job.
pub(super) const SIZE: &str = "720x1280";
pub(super) const SECONDS: &str = "4";

/// A video being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(super) id: String,
    pub(super) model: String,
    /// Seconds of the wall clock.
    pub(super) created: u64,
    /// Of the monotonic clock.
    pub(super) submitted_ns: u64,
    /// From the submission to the end.
    pub(super) time_ns: u64,
    pub(super) fails: bool,
    pub(super) size: String,
    /// Length of the video, as the request put it.
    pub(super) seconds: String,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Queued,
    /// In percent.
    Running(u64),
    Completed,
    Failed,
}

impl Job {
    /// For the first tenth of its time it waits.
    pub(super) fn progress(&self, now_ns: u64) -> Progress {
        let elapsed = now_ns.saturating_sub(self.submitted_ns);
        match elapsed {
            _ if elapsed >= self.time_ns && self.fails => Progress::Failed,
            _ if elapsed >= self.time_ns => Progress::Completed,
            _ if elapsed < self.time_ns / 10 => Progress::Queued,
            _ => Progress::Running(((elapsed as f64 / self.time_ns as f64 * 100.0) as u64).min(99)),
        }
    }
}

impl Progress {
    pub(super) fn name(self) -> &'static str {
        match self {
            Progress::Queued => "queued",
            Progress::Running(_) => "in_progress",
            Progress::Completed => "completed",
            Progress::Failed => "failed",
        }
    }

    pub(super) fn percent(self) -> u64 {
        match self {
            Progress::Queued | Progress::Failed => 0,
            Progress::Running(percent) => percent,
            Progress::Completed => 100,
        }
    }
}

/// The jobs of a server.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    kept: Mutex<StoredJobs>,
    /// If set, every id belongs to this job.
    only: Option<Job>,
}

#[derive(Debug, Default)]
struct StoredJobs {
    by_id: HashMap<String, Job>,
    oldest_first: VecDeque<String>,
}

impl Jobs {
    /// Jobs that are all alike and done, under any id.
    pub(crate) fn all_done(model: &str) -> Self {
        let only = Job {
            id: "video_0".to_owned(),
            model: model.to_owned(),
            created: crate::clock::wall_ns() / 1_000_000_000,
            submitted_ns: 0,
            time_ns: 0,
            fails: false,
            size: SIZE.to_owned(),
            seconds: SECONDS.to_owned(),
        };
        Jobs { only: Some(only), ..Jobs::default() }
    }

    pub(super) fn submit(&self, job: Job) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.oldest_first.len() == MOST_JOBS
            && let Some(oldest) = kept.oldest_first.pop_front()
        {
            kept.by_id.remove(&oldest);
        }
        kept.oldest_first.push_back(job.id.clone());
        kept.by_id.insert(job.id.clone(), job);
    }

    pub(super) fn find(&self, id: &str) -> Option<Job> {
        self.only.clone().or_else(|| self.kept.lock().unwrap_or_else(PoisonError::into_inner).by_id.get(id).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_runs_and_ends() {
        let job = Job { submitted_ns: 1000, time_ns: 100, ..Jobs::all_done("m").find("x").unwrap() };
        let names = |job: &Job| [1000, 1009, 1010, 1099, 1100].map(|now| job.progress(now).name());
        assert_eq!(names(&job), ["queued", "queued", "in_progress", "in_progress", "completed"]);
        assert_eq!(names(&Job { fails: true, ..job.clone() })[4], "failed");
        assert_eq!(job.progress(1050).percent(), 50);
    }
}
