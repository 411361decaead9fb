//! Assigns pieces of work to processes.

use std::cmp::Reverse;

/// The rank of each piece, so that all ranks have about the same total cost. The most expensive pieces are assigned
/// first, each to the rank with the lowest cost so far (the first of several) that has fewer than `most` pieces. The
/// result is a function of the arguments only.
///
/// Source: Graham 1969, *Bounds on multiprocessing timing anomalies*: without `most`, the highest cost of a rank is at
/// most 4/3 of the best possible.
///
/// # Panics
/// If there are more pieces than `ranks` times `most`.
pub fn assign(costs: &[usize], ranks: usize, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|piece| Reverse(costs[*piece]));
    let (mut owners, mut loads) = (vec![0; costs.len()], vec![(0, 0); ranks]);
    for piece in order {
        let free = (0..ranks).filter(|rank| loads[*rank].1 < most);
        owners[piece] = free.min_by_key(|rank| loads[*rank]).expect("room for every piece");
        let (cost, pieces) = &mut loads[owners[piece]];
        (*cost, *pieces) = (*cost + costs[piece], *pieces + 1);
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(costs: &[usize], owners: &[usize], ranks: usize) -> Vec<usize> {
        let of = |rank| costs.iter().zip(owners).filter(|(_, owner)| **owner == rank).map(|(cost, _)| cost).sum();
        (0..ranks).map(of).collect()
    }

    #[test]
    fn the_longest_pieces_go_first_to_who_has_least() {
        // Assigned in turn, the first rank would have 80 + 40 and the last 50 + 10.
        let costs = [80, 70, 60, 50, 40, 30, 20, 10];
        let owners = assign(&costs, 4, 8);
        assert_eq!(owners, [0, 1, 2, 3, 3, 2, 1, 0]);
        assert_eq!(loads(&costs, &owners, 4), [90; 4]);
        // Graham's example for two ranks: the result is 3 + 2 + 2 and 3 + 2, while 3 + 3 and 2 + 2 + 2 would be equal.
        assert_eq!(loads(&[3, 3, 2, 2, 2], &assign(&[3, 3, 2, 2, 2], 2, 5), 2), [7, 5]);
        assert_eq!(assign(&[5, 9, 1], 5, 1), [1, 0, 2], "not everybody has a piece");
        assert_eq!(assign(&[0, 0, 0, 0], 2, 4), [0, 1, 0, 1], "pieces that cost nothing are spread");
    }

    #[test]
    fn nobody_has_more_pieces_than_it_has_room_for() {
        assert_eq!(assign(&[9, 1, 1, 1], 2, 4), [0, 1, 1, 1]);
        assert_eq!(assign(&[9, 1, 1, 1], 2, 2), [0, 1, 1, 0]);
        for (pieces, ranks) in [(1, 1), (7, 3), (64, 5), (8, 8)] {
            let costs: Vec<usize> = (0..pieces).map(|piece| piece * 7919 % 101).collect();
            let most = pieces.div_ceil(ranks);
            let owners = assign(&costs, ranks, most);
            for rank in 0..ranks {
                assert!(owners.iter().filter(|owner| **owner == rank).count() <= most, "{pieces} on {ranks}");
            }
        }
    }
}
