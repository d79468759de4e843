//! A request that makes a video: a job is submitted, looked at until it is done, and what it made is fetched. What
//! follows from each answer is the dialect's to say; here it becomes legs of one exchange.

use crate::reading::Reading;
use aiperf_dialect::Answer;
use aiperf_dialect::video::{DOWNLOADED, Keep, LegAnswer, Place, VideoJob, VideoStep};
use aiperf_transport::encoding::{self, Decoded};
use aiperf_transport::redirect::{asking_for, split_url};
use aiperf_transport::{Leg, Redirects, Script, Step, body, charset};
use aiperf_types::{Exchange, Failure};
use std::borrow::Cow;

/// The legs of one video.
pub(crate) struct VideoLegs<'a> {
    reading: Reading<'a>,
    /// Of the step at hand: each may be redirected.
    redirects: Redirects,
    /// The submission as it went out, and where it has got to.
    job: Option<(Leg, VideoJob)>,
    at: Stage,
    answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Submitting,
    Polling,
    Downloading,
}

impl<'a> VideoLegs<'a> {
    pub(crate) fn new(reading: Reading<'a>) -> Self {
        Self { reading, redirects: Redirects::default(), job: None, at: Stage::Submitting, answer: None }
    }

    /// Leaves what the answers said with an exchange that is over, or names its failure.
    pub(crate) fn finish(self, exchange: &mut Exchange) {
        let Some(failure) = exchange.failure.take() else {
            if exchange.is_success() {
                exchange.parsed = self.answer.map(|answer| Box::new(answer.finish()));
            }
            return;
        };
        exchange.failure = Some(match (failure, self.job) {
            (Failure::TimedOut, _) if self.at == Stage::Polling => {
                let message =
                    format!("Video generation timed out after {:?}s", self.reading.api.endpoint.timeout_seconds);
                Failure::Step { code: 504, kind: "TimeoutError", message }
            }
            // A step that failed by what was said has its name.
            (failure @ Failure::Step { .. }, _) | (failure, None) => failure,
            (failure, Some((_, job))) => job.failed(failure),
        });
    }

    /// What follows an answer that is no redirect.
    fn follow(&mut self, exchange: &Exchange) -> Result<Step, Failure> {
        let Some((submission, job)) = &mut self.job else { return Ok(Step::End) };
        let Decoded { exchange: plain, failure } = encoding::decode(exchange, self.reading.limit);
        if let Some(failure) = failure.filter(|_| exchange.is_success()) {
            return Err(failure);
        }
        let bytes = body::collect(&plain);
        let text = match exchange.is_success() {
            true => charset::text(&plain, &bytes)?,
            false => Cow::Owned(charset::text_lossy(&plain, &bytes).into_bytes()),
        };
        let media_type = body::header(&plain, "content-type").map(|_| body::media_type(&plain)).unwrap_or_default();
        let timeline = &exchange.timeline;
        let step = job.next(LegAnswer {
            status: exchange.status.unwrap_or_default(),
            media_type: &media_type,
            body: &text,
            start: timeline.leg_start,
            end: timeline.end,
        });
        let (keep, next) = match step {
            VideoStep::Get { pause, from, keep } => (keep, Some((pause, from))),
            VideoStep::End { keep } => (keep, None),
            VideoStep::Fail(failure) => return Err(failure),
        };
        let response = match keep {
            Keep::Text if exchange.is_success() => Some(&*text),
            Keep::Text | Keep::Nothing => None,
            Keep::Arrival => Some(DOWNLOADED.as_bytes()),
        };
        if let Some(response) = response {
            let reading = &self.reading;
            self.answer.get_or_insert_with(|| reading.answer(timeline.start)).feed_body(response, timeline.end);
        }
        let Some((pause, from)) = next else { return Ok(Step::End) };
        let mut leg = match from {
            Place::Path(path) => asking_for(submission, (*submission.origin).clone(), &path),
            Place::Url(url) => match split_url(&url) {
                Some((origin, path)) => asking_for(submission, origin, &path),
                None => {
                    return Err(Failure::Redirect(format!("the server made a video at '{url}', which is no HTTP URL")));
                }
            },
        };
        let stage = match (self.at, keep) {
            // Of a job at which somebody looks, only the last reply is kept.
            (Stage::Polling, Keep::Text) => Stage::Downloading,
            (Stage::Submitting | Stage::Polling, _) => Stage::Polling,
            (Stage::Downloading, _) => Stage::Downloading,
        };
        // All looks together have the time of a request, and so has the download.
        leg.renews_time = stage != self.at;
        leg.drops_body = stage == Stage::Downloading;
        self.at = stage;
        Ok(Step::Next(pause, Box::new(leg)))
    }
}

impl Script for VideoLegs<'_> {
    fn next(&mut self, leg: &Leg, answer: &Exchange) -> Step {
        let api = self.reading.api;
        self.job.get_or_insert_with(|| (leg.clone(), VideoJob::new(api, leg.request_line().1)));
        match self.redirects.next(leg, answer) {
            Step::End => {}
            redirected => return redirected,
        }
        self.redirects = Redirects::default();
        self.follow(answer).unwrap_or_else(Step::Fail)
    }
}

#[cfg(test)]
mod tests;
