//! Who does which piece of work that several could do.

use std::cmp::Reverse;

/// The rank that each piece falls to, so that all have about as much to do: the longest piece first, to the rank that has
/// least (of several, the first), until a rank has `most` pieces. The same wherever it is asked.
///
/// Source: Graham 1969, *Bounds on multiprocessing timing anomalies*: without `most`, nobody has more than 4/3 of what
/// the best assignment gives the busiest.
///
/// # Panics
/// When there are more pieces than `ranks` of `most`.
pub fn assigned(costs: &[usize], ranks: usize, most: usize) -> Vec<usize> {
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
        // Every fourth one would give the first rank 80 + 40 and the last 50 + 10.
        let costs = [80, 70, 60, 50, 40, 30, 20, 10];
        let owners = assigned(&costs, 4, 8);
        assert_eq!(owners, [0, 1, 2, 3, 3, 2, 1, 0]);
        assert_eq!(loads(&costs, &owners, 4), [90; 4]);
        // Graham's example for two ranks: 3 + 2 + 2 against 3 + 2, where 3 + 3 and 2 + 2 + 2 would be even.
        assert_eq!(loads(&[3, 3, 2, 2, 2], &assigned(&[3, 3, 2, 2, 2], 2, 5), 2), [7, 5]);
        assert_eq!(assigned(&[5, 9, 1], 5, 1), [1, 0, 2], "not everybody has a piece");
        assert_eq!(assigned(&[0, 0, 0, 0], 2, 4), [0, 1, 0, 1], "pieces that cost nothing are spread");
    }

    #[test]
    fn nobody_has_more_pieces_than_it_has_room_for() {
        assert_eq!(assigned(&[9, 1, 1, 1], 2, 4), [0, 1, 1, 1]);
        assert_eq!(assigned(&[9, 1, 1, 1], 2, 2), [0, 1, 1, 0]);
        for (pieces, ranks) in [(1, 1), (7, 3), (64, 5), (8, 8)] {
            let costs: Vec<usize> = (0..pieces).map(|piece| piece * 7919 % 101).collect();
            let most = pieces.div_ceil(ranks);
            let owners = assigned(&costs, ranks, most);
            for rank in 0..ranks {
                assert!(owners.iter().filter(|owner| **owner == rank).count() <= most, "{pieces} on {ranks}");
            }
        }
    }
}
