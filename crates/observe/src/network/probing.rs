//! The thread that probes: one runtime, one task per probe, so that a server that hangs delays no other.

use super::pacing::{Pacing, Purpose};
use super::sample::{ProbeError, ProbeSample, RoundTrip, round_trip};
use super::setup::{Command, EncodeSample, ProbeSetup, Probed};
use super::summary::Samples;
use crate::collection::Announce;
use crate::collection::lines::Lines;
use aiperf_plan::{ProbePlan, ProbeTarget};
use aiperf_transport::clock::mono_now;
use aiperf_transport::handshake::{first_address, handshake};
use aiperf_transport::{AddressChoice, Closing, DeadlineTimer};
use aiperf_types::{LogLevel, MonoNs, Nanos, WallAnchor};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

/// Probes at shorter intervals are ended by a reset: a connection that is closed in order keeps its port for a minute,
/// and at this interval that is 3,000 of the 28,000 ports.
const RESET_BELOW: Nanos = Nanos::from_millis(20);

/// A probe that was dropped before this shows nothing about its server.
const CONCLUSIVE: Nanos = Nanos::from_millis(1_000);

/// A server and its probes.
struct Watched {
    target: Arc<ProbeTarget>,
    /// Resolved by the first probe that can.
    address: Rc<OnceCell<SocketAddr>>,
    pacing: Pacing,
}

/// A probe that is under way.
struct InFlight {
    target: usize,
    purpose: Purpose,
    started: MonoNs,
}

/// A probe that is over.
struct Done {
    number: u64,
    outcome: Result<RoundTrip, ProbeError>,
}

struct Probing {
    plan: ProbePlan,
    addresses: AddressChoice,
    anchor: WallAnchor,
    announce: Arc<dyn Announce>,
    encode: EncodeSample,
    lines: Lines,
    file_failure: Option<io::Error>,
    watched: Vec<Watched>,
    in_flight: HashMap<u64, InFlight>,
    next_number: u64,
    samples: Samples,
    /// Phases whose requests are not done.
    phases_left: usize,
    /// The run is over: missing samples are made up until then.
    until: Option<MonoNs>,
}

/// Runs until it gets the command to finish.
pub(super) fn run(setup: ProbeSetup, mut commands: UnboundedReceiver<Command>) -> io::Result<Probed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ProbeSetup { plan, addresses, anchor, phases, announce, encode, file } = setup;
    let watch = |target: &ProbeTarget| Watched {
        target: Arc::new(target.clone()),
        address: Rc::default(),
        pacing: Pacing::new(plan.interval, plan.min_samples),
    };
    let mut probing = Probing {
        watched: plan.targets.iter().map(watch).collect(),
        plan,
        addresses,
        anchor,
        announce,
        encode,
        lines: Lines::Open(file),
        file_failure: None,
        in_flight: HashMap::new(),
        next_number: 0,
        samples: Samples::default(),
        phases_left: phases,
        until: None,
    };
    let probed = runtime.block_on(LocalSet::new().run_until(probing.probe(&mut commands)));
    // A name lookup in progress is not waited for.
    runtime.shutdown_background();
    let file_failure = probing.file_failure.take().or_else(|| probing.lines.finish().err());
    probed.map(|()| Probed { summary: probing.samples.summarise(), file_failure })
}

impl Probing {
    async fn probe(&mut self, commands: &mut UnboundedReceiver<Command>) -> io::Result<()> {
        let (done, mut finished) = unbounded_channel();
        let mut timer = DeadlineTimer::new()?;
        while !self.is_over(mono_now()) {
            self.start_due(mono_now(), &done);
            timer.set(self.next_deadline())?;
            let fired = std::future::poll_fn(|cx| timer.poll_fired(cx));
            tokio::select! {
                biased;
                Some(done) = finished.recv() => self.finished(done),
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => return Ok(()),
                    Some(command) => self.obey(command),
                },
                fired = fired => fired?,
            }
        }
        self.let_go(mono_now());
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        let now = mono_now();
        let each = |watched: &mut [Watched], act: &dyn Fn(&mut Pacing)| {
            watched.iter_mut().for_each(|watched| act(&mut watched.pacing));
        };
        match command {
            Command::PhaseStarted => each(&mut self.watched, &|pacing| pacing.start(now)),
            Command::PhaseDone => {
                self.phases_left = self.phases_left.saturating_sub(1);
                if self.phases_left == 0 {
                    each(&mut self.watched, &Pacing::stop);
                }
            }
            Command::Finish => {
                self.until = Some(now.plus(self.plan.top_up_timeout));
                each(&mut self.watched, &Pacing::top_up);
            }
            // Ends the loop.
            Command::Stop => {}
        }
    }

    fn start_due(&mut self, now: MonoNs, done: &UnboundedSender<Done>) {
        let closing = if self.plan.interval < RESET_BELOW { Closing::Reset } else { Closing::Orderly };
        let (addresses, limit) = (self.addresses, self.plan.timeout);
        for (number, watched) in self.watched.iter_mut().enumerate() {
            while let Some(purpose) = watched.pacing.poll(now) {
                let probe = self.next_number;
                self.next_number += 1;
                self.in_flight.insert(probe, InFlight { target: number, purpose, started: mono_now() });
                let (target, address, done) = (watched.target.clone(), watched.address.clone(), done.clone());
                tokio::task::spawn_local(async move {
                    let attempt = attempt(&target, &address, addresses, closing);
                    let outcome = tokio::time::timeout(Duration::from_nanos(limit.0), attempt).await;
                    let outcome = outcome.unwrap_or_else(|_| Err(ProbeError::timed_out(limit)));
                    let _ = done.send(Done { number: probe, outcome });
                });
            }
        }
    }

    fn finished(&mut self, Done { number, outcome }: Done) {
        let Some(InFlight { target, purpose, started }) = self.in_flight.remove(&number) else { return };
        self.watched[target].pacing.note(purpose, outcome.is_ok());
        self.keep(target, started, outcome);
    }

    fn keep(&mut self, target: usize, started: MonoNs, outcome: Result<RoundTrip, ProbeError>) {
        let target = self.watched[target].target.clone();
        let sample = ProbeSample { target, at: self.anchor.wall(started), outcome };
        let mut line = Vec::new();
        (self.encode)(&mut line, &sample);
        if let Err(error) = self.lines.write(&line) {
            self.announce.say(
                LogLevel::Warning,
                format!("network latency: its file takes no more samples ({error}); probing goes on"),
            );
            self.file_failure = Some(error);
        }
        self.samples.add(sample);
    }

    /// Probes still in flight count as failed if samples are missing.
    fn let_go(&mut self, now: MonoNs) {
        let mut waiting: Vec<InFlight> = self.in_flight.drain().map(|(_, probe)| probe).collect();
        waiting.sort_unstable_by_key(|probe| probe.started);
        for InFlight { target, started, .. } in waiting {
            let waited = now.since(started);
            if !self.watched[target].pacing.has_enough() && waited >= CONCLUSIVE {
                self.keep(target, started, Err(ProbeError::let_go(waited)));
            }
        }
    }

    fn next_deadline(&self) -> Option<MonoNs> {
        let beats = self.watched.iter().filter_map(|watched| watched.pacing.next_deadline());
        beats.chain(self.until).min()
    }

    fn is_over(&self, now: MonoNs) -> bool {
        let topped_up = || self.watched.iter().all(|watched| watched.pacing.is_topped_up());
        self.until.is_some_and(|until| now >= until || topped_up())
    }
}

async fn attempt(
    target: &ProbeTarget,
    address: &OnceCell<SocketAddr>,
    addresses: AddressChoice,
    closing: Closing,
) -> Result<RoundTrip, ProbeError> {
    let look_up = || first_address(&target.host, target.port, addresses);
    let address = *address.get_or_try_init(look_up).await.map_err(|error| ProbeError::of_name(&error))?;
    handshake(address, closing).await.map_err(|error| ProbeError::of_connect(&error)).and_then(round_trip)
}
