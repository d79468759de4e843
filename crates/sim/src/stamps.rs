//! Receive stamps of the kernel: when the last byte of a read arrived, by CLOCK_REALTIME.

use std::io::IoSliceMut;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt};

/// Room for the control messages of one read: a stamp is three timespecs and a header.
const CONTROL_BYTES: usize = 128;
const LONGEST_WAIT_MS: u32 = 100;

/// Asks the kernel to stamp what arrives. Connections inherit this from their listener; asked one by one, a request
/// that came with the connection itself would have no stamp.
pub(crate) fn stamp_arrivals(listener: &impl AsFd) -> nix::Result<()> {
    ask_for_stamps(listener)?;
    wait_for_stamps();
    Ok(())
}

fn ask_for_stamps(socket: &impl AsFd) -> nix::Result<()> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(socket, sockopt::Timestamping, &flags)
}

/// The kernel turns stamping on some time after the first socket asked for it: sends itself a byte until one is
/// stamped. Where that cannot be done, the first requests have no stamp, and the log shows it.
fn wait_for_stamps() {
    let probe = || -> std::io::Result<bool> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        ask_for_stamps(&socket)?;
        for _ in 0..LONGEST_WAIT_MS {
            socket.send(&[0])?;
            if receive(&socket, &mut [0; 1])?.1.is_some() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    };
    let _ = probe();
}

/// Reads what there is, with the stamp of its last byte where the kernel gives one.
pub(crate) fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> nix::Result<(usize, Option<u64>)> {
    let mut control = [0u8; CONTROL_BYTES];
    let mut vectors = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut vectors, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampsns(stamps) => {
            let stamp = stamps.system;
            Some(stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64).filter(|ns| *ns > 0)
        }
        _ => None,
    });
    Ok((message.bytes, stamp))
}
