//! G items for each of P prompts. Groups pass through the whole loop, so that no later stage regroups by index
//! arithmetic.

/// `P` groups of exactly `size` items each, in the order of the prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups<T> {
    size: usize,
    items: Vec<T>,
}

impl<T> Groups<T> {
    /// Groups `items`, `size` at a time.
    ///
    /// # Panics
    /// When `items` is not a whole number of groups: that is a bug of the caller, never of the input.
    pub fn new(size: usize, items: Vec<T>) -> Self {
        assert!(size > 0 && items.len().is_multiple_of(size), "{} items do not make groups of {size}", items.len());
        Groups { size, items }
    }

    /// Groups in which each item is repeated `size` times.
    ///
    /// # Panics
    /// When `size` is 0, which is a bug of the caller.
    pub fn repeat(size: usize, items: impl IntoIterator<Item = T>) -> Self
    where
        T: Clone,
    {
        Groups::new(size, items.into_iter().flat_map(|item| std::iter::repeat_n(item, size)).collect())
    }

    /// Items per group (G).
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of groups (P).
    pub fn count(&self) -> usize {
        self.items.len() / self.size
    }

    /// All items, one group after the other.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    pub fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    pub fn into_items(self) -> Vec<T> {
        self.items
    }

    /// The groups, one slice each.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.items.chunks_exact(self.size)
    }

    /// The same groups, with references to the items.
    pub fn each_ref(&self) -> Groups<&T> {
        Groups { size: self.size, items: self.items.iter().collect() }
    }

    /// Pairs each item with its group's element of `others`.
    ///
    /// # Panics
    /// When there is not one of `others` for each group.
    pub fn with<'a, U>(&'a self, others: &'a [U]) -> impl Iterator<Item = (&'a U, &'a T)> {
        assert_eq!(others.len(), self.count(), "one for each group");
        others.iter().zip(self.iter()).flat_map(|(other, group)| group.iter().map(move |item| (other, item)))
    }

    /// Indices of these groups' items in [`items`](Self::items), one group after the other.
    pub fn places(&self, groups: &[usize]) -> Vec<usize> {
        groups.iter().flat_map(|group| group * self.size..(group + 1) * self.size).collect()
    }

    /// Replaces these groups by the groups of `others`, in their order.
    ///
    /// # Panics
    /// When they are not as many, or of another size.
    pub fn replace(&mut self, groups: &[usize], others: Groups<T>) {
        assert_eq!((self.size, groups.len()), (others.size, others.count()), "a group for a group");
        for (place, item) in self.places(groups).into_iter().zip(others.items) {
            self.items[place] = item;
        }
    }

    pub fn map<U>(self, replace: impl FnMut(T) -> U) -> Groups<U> {
        Groups { size: self.size, items: self.items.into_iter().map(replace).collect() }
    }

    /// Replaces each group as a whole.
    ///
    /// # Panics
    /// When `replace` returns another number of items than it was given.
    pub fn map_groups<U>(&self, mut replace: impl FnMut(&[T]) -> Vec<U>) -> Groups<U> {
        let mut items = Vec::with_capacity(self.items.len());
        for group in self.iter() {
            let replaced = replace(group);
            assert_eq!(replaced.len(), self.size, "a group keeps its size");
            items.extend(replaced);
        }
        Groups { size: self.size, items }
    }

    /// Pairs the items of two `Groups` of the same shape.
    ///
    /// # Panics
    /// When the shapes differ.
    pub fn zip<U>(self, other: Groups<U>) -> Groups<(T, U)> {
        assert_eq!((self.size, self.items.len()), (other.size, other.items.len()), "groups of one shape");
        Groups { size: self.size, items: self.items.into_iter().zip(other.items).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_with_their_group() {
        let groups = Groups::new(2, vec![1, 2, 3, 4]);
        assert_eq!(groups.count(), 2);
        let sums = groups.map_groups(|group| vec![group.iter().sum::<i32>(); group.len()]);
        assert_eq!(sums.items(), [3, 3, 7, 7]);
        let named: Vec<(&char, &i32)> = groups.with(&['a', 'b']).collect();
        assert_eq!(named, [(&'a', &1), (&'a', &2), (&'b', &3), (&'b', &4)]);
        assert_eq!(Groups::repeat(2, ['a', 'b']).items(), ['a', 'a', 'b', 'b']);
    }

    #[test]
    fn other_groups_take_the_place_of_those_named() {
        let mut groups = Groups::new(2, vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(groups.places(&[2, 0]), [4, 5, 0, 1]);
        groups.replace(&[2, 0], Groups::new(2, vec![10, 20, 30, 40]));
        assert_eq!(groups.items(), [30, 40, 3, 4, 10, 20]);
    }
}
