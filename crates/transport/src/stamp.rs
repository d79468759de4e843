//! The one read primitive: how many bytes, when they arrived, and how long they waited for us.
//!
//! The instant is the kernel's software receive stamp (`SO_TIMESTAMPING`), which is the arrival of the *last* byte the
//! read returned: queued segments are merged, and the stamp of the last one is kept. Stamps are CLOCK_REALTIME; instant = stamp -
//! distance between the clocks, lag = monotonic now - instant. A stamp in the future, or a jump between the two clocks
//! since the last read, is a step of the wall clock: the read's own instant is used, and counted.

use crate::clock::{anchor_within, wall_now};
use crate::turn;
use aiperf_types::{MonoNs, Nanos, Read};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recv, recvmsg, setsockopt, sockopt};
use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

/// Which instant a read gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampMode {
    /// The kernel's stamp where it gives one.
    Kernel,
    /// When the read returned.
    User,
}

/// Two clock reads further apart than this were interrupted, or the wall clock stepped in between.
const CLOCK_SKEW_LIMIT: u64 = 50_000;

/// Asks the kernel to stamp what a socket receives.
pub fn enable(socket: &impl AsFd) -> io::Result<()> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    Ok(setsockopt(&socket.as_fd(), sockopt::Timestamping, &flags)?)
}

/// Keeps the kernel stamping: it begins a moment after the first socket asks and ends with the last, so a socket that
/// asks before the load starts spares the first reads of a run. Hold the value while stamps are wanted.
pub fn keep_stamping() -> io::Result<std::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    enable(&socket)?;
    Ok(socket)
}

/// Reads sockets and stamps what they give. One a worker: it remembers the distance between the clocks.
pub struct StampedReader {
    mode: StampMode,
    /// Realtime minus monotonic, as last seen; zero before the first read.
    offset: Cell<u64>,
    steps: Cell<u64>,
    /// How far the distance between the clocks may be off.
    width: Cell<Nanos>,
}

impl StampedReader {
    /// A reader that has not read yet.
    pub fn new(mode: StampMode) -> Self {
        Self { mode, offset: Cell::new(0), steps: Cell::new(0), width: Cell::default() }
    }

    /// Whether sockets should be put under [`enable`].
    pub fn mode(&self) -> StampMode {
        self.mode
    }

    /// Steps of the wall clock noticed so far.
    pub fn clock_steps(&self) -> u64 {
        self.steps.get()
    }

    /// How far the clocks can have moved an instant: the widths of the first and of a last look at both, and the drift
    /// in between. Zero before the first read.
    pub fn clock_error(&self) -> Nanos {
        let known = self.offset.get();
        if known == 0 {
            return Nanos::ZERO;
        }
        let (anchor, width) = anchor_within();
        let drift = anchor.wall.0.wrapping_sub(anchor.mono.0).abs_diff(known);
        Nanos(self.width.get().0 + width.0 + drift)
    }

    /// Reads once without waiting. A length of zero is the end of the stream.
    pub fn read(&self, socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Read> {
        if self.mode == StampMode::User {
            let len = recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT)? as u32;
            return Ok(unstamped(turn::now(), len));
        }
        let mut iov = [IoSliceMut::new(buffer)];
        // Room for one SCM_TIMESTAMPING message: three timespecs and a header.
        let mut control = [0u8; 128];
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut control), MsgFlags::MSG_DONTWAIT)?;
        let len = message.bytes as u32;
        let now = turn::now();
        if len == 0 {
            return Ok(unstamped(now, len));
        }
        let stamp = message.cmsgs().ok().and_then(|mut cmsgs| {
            cmsgs.find_map(|cmsg| match cmsg {
                ControlMessageOwned::ScmTimestampsns(stamps) => {
                    let at = stamps.system;
                    Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64).filter(|&ns| ns != 0)
                }
                _ => None,
            })
        });
        Ok(match stamp {
            Some(stamp) => self.convert(now, stamp, len),
            None => unstamped(now, len),
        })
    }

    /// A stamp is on the wall clock; the distance between the clocks is constant but for steps, so it is measured once,
    /// as narrowly as can be, and each read only looks whether it still holds. Using the wall clock of this very read
    /// instead would let an interruption between two clock reads move an arrival to before its request.
    fn convert(&self, now: MonoNs, stamp: u64, len: u32) -> Read {
        let own = unstamped(now, len);
        if !self.offset_holds(now) {
            return own;
        }
        let at = MonoNs(stamp.wrapping_sub(self.offset.get()));
        if at > now {
            // The kernel stamps with a finer view of the same clock: a few nanoseconds are no step.
            if at.0 - now.0 < CLOCK_SKEW_LIMIT {
                return Read { at: now, len, ..Read::default() };
            }
            self.steps.set(self.steps.get() + 1);
            return own;
        }
        let lag = now.since(at).0.min(u64::from(Read::NO_STAMP - 1)) as u32;
        Read { at, lag, len, ..Read::default() }
    }

    /// Whether the clocks are as far apart as before. A step is counted and measured anew.
    fn offset_holds(&self, now: MonoNs) -> bool {
        let known = self.offset.get();
        if known != 0 && wall_now().0.wrapping_sub(now.0).abs_diff(known) <= CLOCK_SKEW_LIMIT {
            return true;
        }
        // The first read, an interruption between the two clock reads, or a step: a careful look decides.
        let (anchor, width) = anchor_within();
        let offset = anchor.wall.0.wrapping_sub(anchor.mono.0);
        let held = known == 0 || offset.abs_diff(known) <= CLOCK_SKEW_LIMIT;
        if known == 0 || !held {
            self.offset.set(offset);
            self.width.set(width);
        }
        self.steps.set(self.steps.get() + u64::from(!held));
        held
    }
}

/// A read whose instant is when it returned.
pub(crate) fn unstamped(at: MonoNs, len: u32) -> Read {
    Read { at, lag: Read::NO_STAMP, len, ..Read::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::mono_now;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_kernel_stamp_lies_between_the_write_and_the_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        enable(&client).unwrap();
        let reader = StampedReader::new(StampMode::Kernel);
        let mut buffer = [0u8; 64];
        // The first packets after a socket asks may go unstamped while the kernel switches stamping on.
        for _ in 0..5000 {
            let before = mono_now();
            server.write_all(b"hello").unwrap();
            let read = loop {
                match reader.read(&client, &mut buffer) {
                    Ok(read) => break read,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                    Err(e) => panic!("{e}"),
                }
            };
            assert_eq!(read.len, 5);
            if read.lag != Read::NO_STAMP {
                let slack = 100_000;
                assert!(read.at.0 + slack >= before.0 && read.at <= mono_now(), "{before:?} {read:?}");
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("the kernel never stamped a read");
    }

    #[test]
    fn a_stamp_from_the_future_is_counted_as_a_step_and_not_used() {
        let reader = StampedReader::new(StampMode::Kernel);
        let now = mono_now();
        let read = reader.convert(now, wall_now().0 + 10_000_000_000, 5);
        assert_eq!((read.lag, reader.clock_steps()), (Read::NO_STAMP, 1));
    }
}
