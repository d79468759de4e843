//! A server from its binding to its stop.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket, sockopt,
};

use crate::config::SimConfig;
use crate::error::SimError;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::reactor::Reactor;
use crate::script::Script;
use crate::shared::Shared;
use crate::stamps::stamp_arrivals;
use crate::stream::Listener;
use crate::tls::server_config;
use crate::truth::TruthLog;

/// A thousand clients that connect at once must not meet a full queue, which would cost each of them a second.
const BACKLOG: i32 = 4096;

/// A bound server that is not yet serving; connections made meanwhile wait in its queue.
pub struct Sim {
    reactors: Vec<Reactor>,
    local_addr: SocketAddr,
    origin: String,
    stop: StopHandle,
    signals: Option<SignalFd>,
    // Last, so that it is closed after the reactors have handed over their last records.
    truth: Option<TruthLog>,
}

/// Stops a server from anywhere.
#[derive(Clone, Debug)]
pub struct StopHandle(Arc<EventFd>);

impl StopHandle {
    /// Stops the server; what is being answered is broken off.
    pub fn stop(&self) {
        // Only a counter at its very end could refuse one more.
        let _ = self.0.write(1);
    }
}

impl Sim {
    /// Checks the configuration and listens.
    pub fn bind(config: SimConfig) -> Result<Self, SimError> {
        raise_descriptor_limit();
        let address = SocketAddr::new(config.host, config.port);
        let script = Script::new(config)?;
        let listener = open_listener(address).map_err(|source| SimError::Listen { address, source })?;
        let local_addr = listener.local_addr()?;
        let scheme = if script.config.tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{local_addr}");
        let tls = script.config.tls.as_ref().map(server_config).transpose()?;
        if script.config.truth_log.is_some() {
            stamp_arrivals(&listener)?;
        }
        let truth = script.config.truth_log.as_deref().map(TruthLog::create).transpose()?;
        let threads = script.config.threads.get();
        let bounds = script.config.metrics.bounds();
        let shared = Arc::new(Shared {
            script,
            metrics: (0..threads).map(|_| Mutex::new(Metrics::new(bounds))).collect(),
            pages: Pages::new(),
            requests: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            jobs: Arc::default(),
            hooks: Mutex::default(),
            tls,
            origin: origin.clone(),
            truth: truth.as_ref().map(TruthLog::sender),
        });
        let stop = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let mut listeners = vec![Listener::Tcp(listener)];
        if let Some(path) = shared.script.config.unix_socket.as_deref() {
            let failed = |source| SimError::UnixSocket { path: path.to_owned(), source };
            listeners.push(Listener::bind_unix(path).map_err(failed)?);
        }
        let listeners = Arc::new(listeners);
        let reactors = (0..threads)
            .map(|thread| Reactor::new(thread, shared.clone(), listeners.clone(), &stop))
            .collect::<Result<_, _>>()?;
        Ok(Sim { reactors, local_addr, origin, stop: StopHandle(Arc::new(stop)), signals: None, truth })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Scheme and address.
    pub fn url(&self) -> String {
        self.origin.clone()
    }

    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Lets SIGINT and SIGTERM stop the server, so that a truth log is written to its end. Call it before other threads
    /// are started: the signals are blocked in the calling thread and in those it starts afterwards.
    pub fn stop_on_signals(&mut self) -> Result<(), SimError> {
        let mut watched = SigSet::empty();
        watched.add(Signal::SIGINT);
        watched.add(Signal::SIGTERM);
        watched.thread_block()?;
        let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        if let Some(reactor) = self.reactors.first() {
            reactor.watch_signals(&signals)?;
        }
        self.signals = Some(signals);
        Ok(())
    }

    /// Serves on the calling thread (and further ones, where configured) until a stop handle fires.
    pub fn run(mut self) -> Result<(), SimError> {
        let stop = self.stop.clone();
        let outcome = std::thread::scope(|scope| {
            let (first, others) = match self.reactors.split_first_mut() {
                Some(split) => split,
                None => return Ok(()),
            };
            let others: Vec<_> = others.iter_mut().map(|reactor| scope.spawn(|| reactor.run())).collect();
            let mut outcome = first.run();
            stop.stop();
            for other in others {
                outcome = outcome.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            outcome
        });
        self.reactors.clear();
        drop(self.truth.take());
        outcome
    }

    /// Binds a server and serves on a thread of its own.
    pub fn spawn(config: SimConfig) -> Result<SimHandle, SimError> {
        let sim = Sim::bind(config)?;
        let (addr, url) = (sim.local_addr(), sim.url());
        let stop = sim.stop_handle();
        let thread = std::thread::Builder::new().name("sim".into()).spawn(move || sim.run())?;
        Ok(SimHandle { addr, url, stop, thread: Some(thread) })
    }
}

/// A server that runs on its own thread. Dropping it stops it.
#[derive(Debug)]
pub struct SimHandle {
    pub addr: SocketAddr,
    url: String,
    stop: StopHandle,
    thread: Option<JoinHandle<Result<(), SimError>>>,
}

impl SimHandle {
    /// Scheme and address.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Stops the server and waits until its log is written.
    pub fn stop(mut self) -> Result<(), SimError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), SimError> {
        self.stop.stop();
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

impl Drop for SimHandle {
    fn drop(&mut self) {
        // A caller that wants the reason calls `stop`.
        let _ = self.finish();
    }
}

fn open_listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&socket), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(TcpListener::from(socket))
}

/// A server of thousands of connections needs as many descriptors as it may have.
fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Being refused leaves the limit as it was.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
