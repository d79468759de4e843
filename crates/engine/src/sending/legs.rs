//! A request that makes a video: it submits a job, polls it until it is done, and fetches the result. The dialect
//! decides what follows each response; this module turns that into legs of one exchange.

use crate::reading::{Reading, last_read, sent};
use aiperf_dialect::ResponseParser;
use aiperf_dialect::video::{Keep, LegResponse, StepTarget, VideoJob, VideoStep};
use aiperf_transport::encoding::{self, Decoded};
use aiperf_transport::redirect::split_url;
use aiperf_transport::{Leg, Redirects, Script, Step, body, charset};
use aiperf_types::{Exchange, Failure};
use std::borrow::Cow;

/// The legs of one video.
pub(crate) struct VideoLegs<'a> {
    reading: Reading<'a>,
    /// The redirects of the current step: each step may be redirected.
    redirects: Redirects<'a>,
    /// The submission as it was sent, and the state of its job.
    job: Option<(Leg, VideoJob)>,
    parser: Option<ResponseParser<'a>>,
}

impl<'a> VideoLegs<'a> {
    pub(crate) fn new(reading: Reading<'a>, redirects: Redirects<'a>) -> Self {
        Self { reading, redirects, job: None, parser: None }
    }

    /// Stores the parsed responses in a finished exchange, or names its failure.
    pub(crate) fn finish(self, exchange: &mut Exchange) {
        let Some(failure) = exchange.failure.take() else {
            if exchange.is_success() {
                exchange.parsed = self.parser.map(|parser| Box::new(parser.finish()));
            }
            return;
        };
        exchange.failure = Some(match self.job {
            Some((_, job)) => job.failed(failure),
            None => failure,
        });
    }

    /// The step that follows a response that is not a redirect.
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
        let step =
            job.next(LegResponse { status: exchange.status.unwrap_or_default(), media_type: &media_type, body: &text });
        let keep = match &step {
            VideoStep::Get { keep, .. } | VideoStep::End { keep } => *keep,
            VideoStep::Fail(failure) => return Err(failure.clone()),
        };
        let reading = &self.reading;
        let parser = self.parser.get_or_insert_with(|| reading.parser(sent(timeline)));
        match keep {
            Keep::Text if exchange.is_success() => parser.feed_body(&text, last_read(timeline)),
            Keep::Arrival => parser.arrived(last_read(timeline)),
            Keep::Text | Keep::Nothing => {}
        }
        let VideoStep::Get { pause, from, renews_time, drops_body, .. } = step else { return Ok(Step::End) };
        let mut leg = match from {
            StepTarget::Path(path) => self.redirects.asking_for(submission, (*submission.origin).clone(), &path),
            StepTarget::Url(url) => match split_url(&url) {
                Some((origin, path)) => self.redirects.asking_for(submission, origin, &path),
                None => {
                    return Err(Failure::Redirect(format!("the server made a video at '{url}', which is no HTTP URL")));
                }
            },
        };
        (leg.renews_time, leg.drops_body) = (renews_time, drops_body);
        Ok(Step::Next(pause, Box::new(leg)))
    }
}

impl Script for VideoLegs<'_> {
    fn next(&mut self, leg: &Leg, response: &Exchange) -> Step {
        let api = self.reading.api;
        self.job.get_or_insert_with(|| (leg.clone(), VideoJob::new(api, leg.request_line().1)));
        match self.redirects.next(leg, response) {
            Step::End => {}
            redirected => return redirected,
        }
        self.redirects = self.redirects.anew();
        self.follow(response).unwrap_or_else(Step::Fail)
    }
}

#[cfg(test)]
mod tests;
