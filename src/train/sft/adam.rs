//! Temporary.
use std::collections::BTreeMap;

use candle_core::{Tensor, Var};

pub(super) struct Adam {
    m: BTreeMap<String, Tensor>,
    v: BTreeMap<String, Tensor>,
    step: i32,
}

impl Adam {
    pub fn new(vars: &BTreeMap<String, Var>) -> candle_core::Result<Self> {
        let zeros = || vars.iter().map(|(n, v)| Ok((n.clone(), v.zeros_like()?))).collect::<candle_core::Result<_>>();
        Ok(Adam { m: zeros()?, v: zeros()?, step: 0 })
    }

    pub fn state(&self) -> BTreeMap<String, Tensor> {
        let named = |k: &'static str, t: &BTreeMap<String, Tensor>| {
            t.iter().map(|(n, t)| (format!("{k}.{n}"), t.clone())).collect::<Vec<_>>()
        };
        let step = Tensor::new(&[self.step as u32], &candle_core::Device::Cpu).unwrap();
        named("m", &self.m).into_iter().chain(named("v", &self.v)).chain([("step".to_owned(), step)]).collect()
    }

    pub fn load_state(&mut self, s: &BTreeMap<String, Tensor>) -> candle_core::Result<()> {
        for (n, t) in self.m.iter_mut() {
            *t = s[&format!("m.{n}")].clone();
        }
        for (n, t) in self.v.iter_mut() {
            *t = s[&format!("v.{n}")].clone();
        }
        self.step = s["step"].to_vec1::<u32>()?[0] as i32;
        Ok(())
    }

    pub fn apply(
        &mut self,
        vars: &BTreeMap<String, Var>,
        grads: &BTreeMap<String, Tensor>,
        lr: f64,
        wd: f64,
        clip: f64,
    ) -> candle_core::Result<f64> {
        self.step += 1;
        let mut sq = 0.0;
        for g in grads.values() {
            sq += g.sqr()?.sum_all()?.to_scalar::<f32>()? as f64;
        }
        let norm = sq.sqrt();
        let scale = if norm > clip { clip / norm } else { 1.0 };
        let (b1, b2) = (0.9, 0.95);
        let (c1, c2) = (1.0 - f64::powi(b1, self.step), 1.0 - f64::powi(b2, self.step));
        for (name, var) in vars {
            let g = (&grads[name] * scale)?;
            let m = ((&self.m[name] * b1)? + (&g * (1.0 - b1))?)?;
            let v = ((&self.v[name] * b2)? + (g.sqr()? * (1.0 - b2))?)?;
            let update = ((&m / c1)? / ((&v / c2)?.sqrt()? + 1e-8)?)?;
            let decay = if var.dims().len() > 1 { 1.0 - lr * wd } else { 1.0 };
            var.set(&((var.as_tensor().detach() * decay)? - (update * lr)?)?)?;
            self.m.insert(name.clone(), m);
            self.v.insert(name.clone(), v);
        }
        Ok(norm)
    }
}
