use super::*;

const SETTINGS: AdamW =
    AdamW { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0.01, max_grad_norm: f64::INFINITY };

fn one(values: &[f32], dtype: DType) -> BTreeMap<String, Var> {
    let tensor = Tensor::from_slice(values, (2, 2), &Device::Cpu).unwrap().to_dtype(dtype).unwrap();
    BTreeMap::from([("w".into(), Var::from_tensor(&tensor).unwrap())])
}

fn gradient(values: &[f32]) -> Gradients {
    BTreeMap::from([("w".into(), Tensor::from_slice(values, (2, 2), &Device::Cpu).unwrap())])
}

fn values(trainable: &BTreeMap<String, Var>) -> Vec<f64> {
    trainable["w"].flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

#[test]
fn three_steps_agree_with_the_rule_worked_out_in_double_precision() {
    // The expected values follow PyTorch's order of operations (decay, moments, bias correction), computed with Python
    // floats. Fused and tensor operations are both compared with them.
    let expected = [
        [0.899000009999999, -1.8980000049999997, 0.39950000333333324, 2.997],
        [0.9534411855511393, -1.869265061897143, 0.30159263041280204, 2.920507020295947],
        [0.9634688375062485, -1.9059834634753503, 0.24529300542284194, 2.975045424505175],
    ];
    let gradients = [[0.1, -0.2, 0.3, 0.0], [-0.4, 0.1, 0.2, 0.05], [0.2, 0.3, -0.1, -0.6]];
    for dtype in [DType::F32, DType::F64] {
        let trainable = one(&[1.0, -2.0, 0.5, 3.0], dtype);
        let mut optimizer = Optimizer::new(&trainable, SETTINGS).unwrap();
        for (gradient_values, expected) in gradients.iter().zip(expected) {
            optimizer.apply(&trainable, &gradient(gradient_values), 0.1).unwrap().unwrap();
            for (found, expected) in values(&trainable).iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "{dtype:?}: {found} is not {expected}");
            }
        }
    }
}

#[test]
fn without_kernels_made_for_it_the_same_moves_beyond_rounding() {
    let [fused, apart] = [true, false].map(|fused| {
        let trainable = one(&[1.0, -2.0, 0.5, 3.0], DType::F32);
        let settings = AdamW { max_grad_norm: 0.25, ..SETTINGS };
        let mut optimizer = Optimizer::new(&trainable, settings).unwrap().fused(fused);
        for values in [[0.1, -0.2, 0.3, 0.0], [-0.4, 0.1, 0.2, 0.05], [0.2, 0.3, -0.1, -0.6]] {
            let norm = optimizer.apply(&trainable, &gradient(&values), 0.1).unwrap().unwrap();
            let expected = values.iter().map(|value: &f32| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            assert!((norm - expected).abs() < 1e-6, "{norm} is not {expected}");
        }
        values(&trainable)
    });
    assert!(fused.iter().zip(&apart).all(|(a, b)| (a - b).abs() < 1e-6), "{fused:?} and {apart:?}");
}

#[test]
fn a_long_gradient_is_cut_to_the_norm_and_reported_uncut() {
    // (3, 4, 0, 0) has norm 5. With decay rates of 0 the mean is the clipped gradient itself.
    let trainable = one(&[0.0; 4], DType::F32);
    let settings = AdamW { beta1: 0.0, beta2: 0.0, epsilon: 1.0, weight_decay: 0.0, max_grad_norm: 1.0 };
    let mut optimizer = Optimizer::new(&trainable, settings).unwrap();
    assert_eq!(optimizer.apply(&trainable, &gradient(&[3.0, 4.0, 0.0, 0.0]), 1.0).unwrap(), Some(5.0));
    for (found, expected) in values(&trainable).iter().zip([-0.6 / 1.6, -0.8 / 1.8, 0.0, 0.0]) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

#[test]
fn no_gradient_and_no_number_are_refused_by_name_and_change_nothing() {
    let trainable = one(&[1.0; 4], DType::F32);
    let mut optimizer = Optimizer::new(&trainable, SETTINGS).unwrap();
    let missing = optimizer.apply(&trainable, &Gradients::new(), 0.1).unwrap_err();
    assert!(matches!(&missing, LearnError::MissingGradients { names } if names == &["w"]), "{missing}");
    let infinite = optimizer.apply(&trainable, &gradient(&[f32::NAN, 0.0, 0.0, 0.0]), 0.1).unwrap_err();
    assert!(matches!(&infinite, LearnError::NotFiniteGradients { names } if names == &["w"]), "{infinite}");
    assert_eq!(values(&trainable), [1.0; 4]);
    assert_eq!(optimizer.state().unwrap()["step"].to_vec1::<u32>().unwrap(), [0]);
}

#[test]
fn a_state_of_other_variables_is_refused_by_name() {
    let trainable = one(&[1.0; 4], DType::F32);
    let mut optimizer = Optimizer::new(&trainable, SETTINGS).unwrap();
    let mut state = optimizer.state().unwrap();
    state.remove("exp_avg_sq.w");
    let error = optimizer.load_state(&state).unwrap_err().to_string();
    assert_eq!(error, "optimiser state: `exp_avg_sq.w`: found nothing, expected a tensor of shape [2, 2]");
}

#[test]
fn a_state_that_cannot_be_written_is_told_with_the_systems_own_error() {
    let dir = tempfile::tempdir().unwrap();
    let optimizer = Optimizer::new(&one(&[1.0, -2.0, 0.5, 3.0], DType::F32), SETTINGS).unwrap();
    let error = optimizer.save(&dir.path().join("missing/optimizer.safetensors")).unwrap_err();
    // By its kind a full disk is known.
    let LearnError::Policy(PolicyError::File { source, .. }) = &error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

/// A gradient that passes through f16: that of the loss times the scale.
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
    let good = |optimizer: &mut Optimizer, trainable: &BTreeMap<String, Var>, values: &[f32]| {
        let scale = optimizer.loss_scale();
        optimizer.apply(trainable, &scaled(values, scale), 0.1).unwrap().unwrap()
    };
    for _ in 0..60 {
        good(&mut optimizer, &trainable, &[0.1, 0.2, -0.3, 0.4]);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("optimizer.safetensors");
    optimizer.save(&path).unwrap();
    let resumed = BTreeMap::from([("w".to_owned(), Var::from_tensor(&trainable["w"].copy().unwrap()).unwrap())]);
    let mut restored = Optimizer::new(&resumed, SETTINGS).unwrap().in_precision(Precision::F16);
    restored.restore(&path).unwrap();
    for (optimizer, trainable) in [(&mut optimizer, &trainable), (&mut restored, &resumed)] {
        // Another gradient, whose moves tell what the moments were.
        let gradient = [-0.4, 0.1, 0.2, 0.05];
        for _ in 0..39 {
            good(optimizer, trainable, &gradient);
        }
        assert_eq!(optimizer.loss_scale(), 32_768.0);
        good(optimizer, trainable, &gradient);
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

#[test]
fn the_loss_scale_doubles_after_a_hundred_good_updates_in_a_row_and_halves_at_once() {
    let mut scale = LossScale::default();
    (0..99).for_each(|_| scale.grow());
    assert_eq!(scale.factor, 65_536.0);
    assert!(scale.shrink());
    (0..99).for_each(|_| scale.grow());
    assert_eq!(scale.factor, 32_768.0);
    assert_eq!(LossScale::from_state(&scale.to_state()), Some(scale));
    scale.grow();
    assert_eq!((scale.factor, scale.updates), (65_536.0, 0));
}

#[test]
fn below_one_it_is_not_the_scale_that_is_to_blame() {
    let mut scale = LossScale::default();
    let halvings = (0..100).take_while(|_| scale.shrink()).count();
    assert_eq!(halvings, 16);
    assert_eq!(LossScale::from_state(&[0.0, 0.0]), None);
}
