//! Assignment targets of assignments, loops and comprehensions.

use ruff_python_ast::{Expr, StmtAssign, StmtAugAssign};
use wasm_encoder::Instruction as Wasm;

use super::code::long_at;
use super::iteration::Item;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};

/// Elements of a tuple or a list, as a target or as a display.
pub(super) fn elements(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}

impl<'a> Emitter<'a> {
    /// Assigns an item to a target. The caller still owns the item's locals.
    pub(super) fn assign(&mut self, target: &'a Expr, item: Item) -> Emitted<()> {
        if let Some(targets) = elements(target) {
            if targets.iter().any(Expr::is_starred_expr) {
                return outside("`*` in a target");
            }
            return match item {
                Item::Several(items) if items.len() == targets.len() => {
                    targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, item))
                }
                item => self.unpack(targets, item),
            };
        }
        let value = self.one(item);
        match target {
            Expr::Name(name) => {
                let variable = self.target(&name.id)?;
                self.push(value);
                self.store(variable, value.kind);
            }
            Expr::Subscript(subscript) if !subscript.slice.is_slice_expr() => {
                self.escape(value.kind);
                self.anything(&subscript.value)?;
                self.anything(&subscript.slice)?;
                self.push(value);
                self.call_runtime("py_set_item");
                self.charge(cost::STORE_SUBSCRIPT);
            }
            other => return outside(format!("{} as a target", super::names::description(other))),
        }
        self.release_value(value);
        Ok(())
    }

    fn unpack(&mut self, targets: &'a [Expr], item: Item) -> Emitted<()> {
        self.charge(cost::UNPACK);
        let value = self.one(item);
        let address = self.word_local();
        self.push(value);
        self.word(targets.len() as i32);
        self.call_runtime("py_unpack");
        self.set(address);
        // All elements are read before any target is written, because a target may be a subscript of the source.
        let mut parts = Vec::with_capacity(targets.len());
        for index in 0..targets.len() {
            self.get(address);
            self.put(Wasm::I64Load(long_at(8 * index as u64)));
            parts.push(self.set_new());
        }
        for (target, &part) in targets.iter().zip(&parts) {
            self.assign(target, Item::One(part, Kind::Any))?;
        }
        parts.into_iter().for_each(|part| self.release(part));
        self.release(address);
        self.release_value(value);
        Ok(())
    }

    pub(super) fn assignment(&mut self, assignment: &'a StmtAssign) -> Emitted<()> {
        let several = |tuple: &'a Expr| match tuple {
            Expr::Tuple(tuple) if !tuple.elts.iter().any(Expr::is_starred_expr) => Some(&tuple.elts[..]),
            _ => None,
        };
        if let [target] = &assignment.targets[..]
            && let (Some(targets), Some(values)) = (several(target), several(&assignment.value))
            && targets.len() == values.len()
        {
            // Several values are assigned to several targets without making a tuple.
            let mut items = Vec::with_capacity(values.len());
            for value in values {
                let kind = self.expression(value)?;
                items.push(Item::One(self.set_new(), kind));
            }
            for (target, item) in targets.iter().zip(&items) {
                self.assign(target, item.clone())?;
            }
            items.into_iter().for_each(|item| self.release_item(item));
            return Ok(());
        }
        let kind = self.expression(&assignment.value)?;
        if let [Expr::Name(name)] = &assignment.targets[..] {
            let variable = self.target(&name.id)?;
            self.store(variable, kind);
            return Ok(());
        }
        self.assign_stacked(&assignment.targets, kind)
    }

    /// Assigns the value on the stack to targets, one after the other.
    pub(super) fn assign_stacked(&mut self, targets: &'a [Expr], kind: Kind) -> Emitted<()> {
        let local = self.set_new();
        for target in targets {
            self.assign(target, Item::One(local, kind))?;
        }
        self.release(local);
        Ok(())
    }

    pub(super) fn augmented_assignment(&mut self, assignment: &'a StmtAugAssign) -> Emitted<()> {
        match &*assignment.target {
            Expr::Name(name) => {
                let variable = self.target(&name.id)?;
                if matches!(self.kinds[variable], Kind::Module(_) | Kind::Caught) {
                    return outside("a module or an exception as a value");
                }
                let kind = self.load(variable);
                let left = self.take(kind);
                let right = self.value(&assignment.value)?;
                let kind = self.augmented(assignment.op, left, right)?;
                self.store(variable, kind);
                self.release_value(left);
                self.release_value(right);
                Ok(())
            }
            Expr::Subscript(subscript) if !subscript.slice.is_slice_expr() => {
                let container = self.value(&subscript.value)?;
                let key = self.value(&subscript.slice)?;
                self.subscript(container, key);
                let left = self.take(if container.kind == Kind::Str { Kind::Str } else { Kind::Any });
                let right = self.value(&assignment.value)?;
                self.escape(right.kind);
                let kind = self.augmented(assignment.op, left, right)?;
                let result = self.take(kind);
                self.call_runtime_with("py_set_item", &[container, key, result]);
                self.charge(cost::STORE_SUBSCRIPT + 2 * cost::LOAD);
                for value in [container, key, left, right, result] {
                    self.release_value(value);
                }
                Ok(())
            }
            other => outside(format!("{} as a target of an augmented assignment", super::names::description(other))),
        }
    }
}
