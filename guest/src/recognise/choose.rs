//! Candidates → the one that counts.

use alloc::vec::Vec;

use super::candidates::{Candidate, Rank};
use crate::codes::{Code, Proof};
use crate::intake::{Evidence, Place};
use crate::systems::System;
use crate::tables::Layer;

/// The candidate that counts.
///
/// What stands inside a text counts only where nothing else does. A pool's word that no connection was free
/// counts before all else: nothing was sent, whatever older failure it wraps. Then the deepest error with a code
/// of its own gives the kind; without one, the most telling sign, deepest first.
pub(super) fn choose(mut candidates: Vec<Candidate>, evidence: &Evidence) -> Option<Candidate> {
    if candidates.iter().any(|candidate| candidate.place != Place::Inside) {
        candidates.retain(|candidate| candidate.place != Place::Inside);
    }
    // A loss at a text's start counts before a code that stands somewhere behind it.
    let is_open = |at: &Candidate| {
        at.place != Place::Sought && matches!(at.row.proof, Proof::Lost | Proof::SaysUnknown)
    };
    if candidates.iter().any(is_open) {
        candidates.retain(|candidate| candidate.place != Place::Sought);
    }
    // A cancel beneath a timeout is how the timeout was carried out.
    let is_means =
        |at: &Candidate| at.depth > 0 && at.layer == Some(Layer::Transport) && at.row.code == Code::Cancelled;
    if candidates.iter().any(|candidate| !is_means(candidate)) {
        candidates.retain(|candidate| !is_means(candidate));
    }
    let pool = candidates.iter().find(|at| at.layer == Some(Layer::Pool) && at.row.proof == Proof::NeverSent);
    if let Some(pool) = pool {
        return Some(pool.clone());
    }
    let native = candidates
        .iter()
        .filter(|at| at.rank <= Rank::SqlState)
        .min_by_key(|at| (core::cmp::Reverse(at.depth), at.rank, at.fault));
    let best = native
        .or_else(|| candidates.iter().min_by_key(|at| (at.rank, core::cmp::Reverse(at.depth), at.fault)))?;
    let best = refine(best, &candidates);
    Some(vouch(weigh(best, &candidates, evidence), &candidates))
}

/// Words without a code behind an unknown beginning prove nothing themselves; a code or class of the same error does
/// it for them.
fn vouch(best: &Candidate, candidates: &[Candidate]) -> Candidate {
    let refuses = |at: &&Candidate| {
        at.fault == best.fault && !at.is_hearsay() && matches!(at.row.proof, Proof::Refused | Proof::Rejected)
    };
    let voucher = candidates.iter().find(refuses).filter(|_| best.is_hearsay());
    let mut best = best.clone();
    if let Some(voucher) = voucher {
        best.row.proof = voucher.row.proof;
        best.place = Place::Form;
    }
    best
}

/// The server's own words beside a class or a code that stands for several conditions. Where both say that nothing
/// was sent, the class is the closer word: a wrapper's text only tells that the connection failed.
fn refine<'a>(best: &'a Candidate, candidates: &'a [Candidate]) -> &'a Candidate {
    let is_coarse = best.rank == Rank::Class
        || (best.rank == Rank::Code && matches!(best.row.code, Code::StateConflict | Code::DatabaseError));
    let says_more = |words: &&Candidate| {
        (words.row.code, words.row.proof) != (best.row.code, best.row.proof)
            && (words.row.proof, best.row.proof) != (Proof::NeverSent, Proof::NeverSent)
    };
    candidates
        .iter()
        .find(|at| at.rank == Rank::Text && at.fault == best.fault && at.layer.is_none())
        .filter(|words| is_coarse && says_more(words))
        .unwrap_or(best)
}

/// Corrects the choice by what the other candidates prove about sending.
fn weigh<'a>(best: &'a Candidate, candidates: &'a [Candidate], evidence: &Evidence) -> &'a Candidate {
    let beneath = |proof: Proof| {
        candidates.iter().find(move |at| {
            at.row.proof == proof
                && at.depth >= best.depth
                && at.rank <= Rank::Transport
                && at.fault != best.fault
        })
    };
    let above = |proof: Proof| {
        candidates
            .iter()
            .find(move |at| at.row.proof == proof && at.depth < best.depth && at.rank <= Rank::Class)
    };
    match best.row.proof {
        // The server's word on a whole transaction holds for the command that it refused: Redis' EXECABORT.
        Proof::Rejected | Proof::Refused => above(Proof::SaysNotCommitted).unwrap_or(best),
        // One of several hosts was reached and did not answer: the refusals of the others prove nothing.
        Proof::NeverSent if best.is_one_of_many => beneath(Proof::Lost).unwrap_or(best),
        // A link failure whose cause is a refused connect: it never came to be. Not where a driver reconnects by
        // itself and reports the failed reconnect as the cause of the loss.
        Proof::Lost if best.row.marks.connection_lost && reports_first_connect(evidence, best.system) => {
            beneath(Proof::NeverSent).filter(|at| at.rank == Rank::Transport).unwrap_or(best)
        }
        _ => best,
    }
}

/// Is a failed connect beneath a lost connection that connection's own?
fn reports_first_connect(evidence: &Evidence, system: System) -> bool {
    let replays = evidence.driver.is_some_and(|driver| driver.replays);
    !replays && system.profile().has_transactions && system != System::Mongodb
}
