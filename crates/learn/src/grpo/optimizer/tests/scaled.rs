//! Gradients that pass through f16.

use super::*;

/// An optimiser for f16 with its variable and gradient: that of the loss times the scale.
fn scaled(values: &[f32], scale: f64) -> Gradients {
    gradient(&values.iter().map(|value| value * scale as f32).collect::<Vec<_>>())
}

#[test]
fn a_scaled_gradient_moves_what_the_gradient_itself_moves_bit_for_bit() {
    let (plain, scaled_ones) = (one(&[1.0, -2.0, 0.5, 3.0], DType::F32), one(&[1.0, -2.0, 0.5, 3.0], DType::F32));
    let mut optimizer = Optimizer::new(&plain, SETTINGS).unwrap().in_precision(Precision::Bf16);
    let mut scaling = Optimizer::new(&scaled_ones, SETTINGS).unwrap().in_precision(Precision::F16);
    assert_eq!((optimizer.loss_scale(), scaling.loss_scale()), (1.0, 65_536.0));
    for values in [[0.1, -0.2, 0.3, 0.0], [-0.4, 0.1, 0.2, 0.05]] {
        let norm = optimizer.apply(&plain, &gradient(&values), 0.1).unwrap();
        assert_eq!(scaling.apply(&scaled_ones, &scaled(&values, 65_536.0), 0.1).unwrap(), norm);
    }
    assert_eq!(values(&plain), values(&scaled_ones));
}

#[test]
fn a_gradient_beyond_f16_moves_nothing_and_halves_the_scale_which_a_checkpoint_keeps() {
    let trainable = one(&[1.0; 4], DType::F32);
    let mut optimizer = Optimizer::new(&trainable, SETTINGS).unwrap().in_precision(Precision::F16);
    let broken = gradient(&[f32::INFINITY, 0.0, 0.0, 0.0]);
    assert_eq!(optimizer.apply(&trainable, &broken, 0.1).unwrap(), None);
    assert_eq!((optimizer.loss_scale(), values(&trainable)), (32_768.0, vec![1.0; 4]));
    let good = |optimizer: &mut Optimizer, trainable: &BTreeMap<String, Var>| {
        let scale = optimizer.loss_scale();
        optimizer.apply(trainable, &scaled(&[0.1, 0.2, -0.3, 0.4], scale), 0.1).unwrap().unwrap()
    };
    for _ in 0..60 {
        good(&mut optimizer, &trainable);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("optimizer.safetensors");
    optimizer.save(&path).unwrap();
    let resumed = BTreeMap::from([("w".to_owned(), Var::from_tensor(&trainable["w"].copy().unwrap()).unwrap())]);
    let mut restored = Optimizer::new(&resumed, SETTINGS).unwrap().in_precision(Precision::F16);
    restored.restore(&path).unwrap();
    for (optimizer, trainable) in [(&mut optimizer, &trainable), (&mut restored, &resumed)] {
        for _ in 0..39 {
            good(optimizer, trainable);
        }
        assert_eq!(optimizer.loss_scale(), 32_768.0);
        good(optimizer, trainable);
        assert_eq!(optimizer.loss_scale(), 65_536.0);
    }
    assert_eq!(values(&trainable), values(&resumed));
    // With f32 the same file can be read, and the loss is not scaled.
    let mut in_f32 = Optimizer::new(&resumed, SETTINGS).unwrap();
    in_f32.restore(&path).unwrap();
    assert_eq!(in_f32.loss_scale(), 1.0);
}

#[test]
fn a_gradient_that_no_scale_mends_is_an_error() {
    let trainable = one(&[1.0; 4], DType::F32);
    let mut optimizer = Optimizer::new(&trainable, SETTINGS).unwrap().in_precision(Precision::F16);
    let broken = gradient(&[f32::NAN, 0.0, 0.0, 0.0]);
    let tries = (0..40).take_while(|_| optimizer.apply(&trainable, &broken, 0.1).is_ok()).count();
    assert_eq!((tries, values(&trainable)), (16, vec![1.0; 4]));
}
