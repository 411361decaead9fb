//! Named tensors in safetensors files of Hugging Face layout, and random initial tensors.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use candle_core::quantized::GgmlDType;
use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use rand::Rng;
use rayon::prelude::*;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use super::{DecoderConfig, PolicyError, Precision};
use crate::files::finite;
use grpo_base::files;
use grpo_base::seed::{Purpose, Seed};
use grpo_tensor::{Blocks, Weight};

/// File of a model's weights, if they are in one file.
pub(super) const FILE: &str = "model.safetensors";

/// Index of weights that are in several files.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// Beginning of the pointer that Git LFS leaves in place of a large file.
const GIT_LFS: &[u8] = b"version https://git-lfs";

/// What the names of scales have in common that stand beside quantised weights: `weight_scale`, `weight_scale_inv`.
const SCALE: &str = ".weight_scale";

/// Standard deviation of fresh embeddings and projections, that of GPT-2.
const INITIAL_STD: f64 = 0.02;

/// Device and format that tensors are loaded to. Norms are f32 in every format.
#[derive(Clone, Copy)]
pub(super) struct LoadTarget<'a> {
    pub device: &'a Device,
    pub precision: Precision,
}

/// How matrices are kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// As plain numbers.
    Dense,
    /// In the quantised blocks or 16-bit format of their file, if they have one.
    Packed,
}

/// Turns every tensor into a dense weight.
pub(super) fn dense(tensors: BTreeMap<String, Tensor>) -> BTreeMap<String, Weight> {
    tensors.into_iter().map(|(name, tensor)| (name, tensor.into())).collect()
}

/// Reads a safetensors file.
pub(super) fn read_file(path: &Path, target: LoadTarget<'_>) -> Result<BTreeMap<String, Tensor>, PolicyError> {
    let bytes = std::fs::read(path).map_err(PolicyError::file(path))?;
    read_bytes(&bytes, path, target)
}

/// Reads the content of a safetensors file; `path` is named in errors.
pub(super) fn read_bytes(
    bytes: &[u8],
    path: &Path,
    target: LoadTarget<'_>,
) -> Result<BTreeMap<String, Tensor>, PolicyError> {
    let loaded = stored(bytes, path, target.device)?.into_iter().map(|(name, tensor)| {
        let tensor = in_format(&name, &tensor, target.precision)?;
        Ok((name, tensor))
    });
    loaded.collect()
}

/// The tensors of a safetensors file, in the file's formats.
fn stored(bytes: &[u8], path: &Path, device: &Device) -> Result<BTreeMap<String, Tensor>, PolicyError> {
    refuse_pointer(bytes, path)?;
    refuse_quantised(bytes)?;
    let corrupt = |message: String| PolicyError::Corrupt { path: path.into(), format: "safetensors", message };
    let unreadable = |error: &dyn std::fmt::Display| {
        corrupt(shortage(bytes).unwrap_or_else(|| error.to_string().lines().next().unwrap_or_default().into()))
    };
    let views = SafeTensors::deserialize(bytes).map_err(|error| unreadable(&error))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in views.tensors() {
        let tensor = match view.load(device) {
            // A mask may be of truths, which nobody reads.
            Err(_) if !is_weight(&name) => continue,
            loaded => loaded.map_err(|error| unreadable(&error))?,
        };
        // A mask may be infinite.
        if (name.ends_with(".weight") || name.ends_with(".bias")) && !finite::in_safetensors(view.dtype(), view.data())
        {
            return Err(PolicyError::NotFinite { place: path.display().to_string(), name });
        }
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

/// Whether a tensor is one of weights. Files of some families also hold masks and positions, which are not read.
fn is_weight(name: &str) -> bool {
    name.ends_with("weight") || name.ends_with("bias")
}

/// Refuses the tensors of a quantised model, which are other numbers without their scales. Its `config.json` may not say
/// that it is one.
fn refuse_quantised(bytes: &[u8]) -> Result<(), PolicyError> {
    // A file that cannot be read is refused where its tensors are.
    let Ok(views) = SafeTensors::deserialize(bytes) else { return Ok(()) };
    let found = views.names().into_iter().filter_map(|name| {
        if name.contains(SCALE) {
            return Some(format!("that of quantised weights, with `{name}`"));
        }
        match views.tensor(name).ok()?.dtype() {
            Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F8_E4M3 => None,
            other => is_weight(name).then(|| format!("{other:?} of `{name}`")),
        }
    });
    let Some(found) = found.min() else { return Ok(()) };
    let expected = "F32, F16, BF16 or F64; load the model before it was quantised, or its .gguf file";
    Err(PolicyError::setting("format of tensors", found, expected))
}

/// Refuses to write tensors with an infinite number or a NaN.
pub(super) fn check_finite<'a>(tensors: impl IntoIterator<Item = (&'a String, &'a Tensor)>) -> Result<(), PolicyError> {
    for (name, tensor) in tensors {
        if !is_finite(tensor)? {
            return Err(PolicyError::NotFinite { place: "weights".into(), name: name.clone() });
        }
    }
    Ok(())
}

/// Whether no number of a tensor is infinite or NaN.
pub(super) fn is_finite(tensor: &Tensor) -> candle_core::Result<bool> {
    Ok((tensor.to_dtype(DType::F32)? * 0.0)?.sum_all()?.to_scalar::<f32>()? == 0.0)
}

/// A weight in the form that it is kept in. Every number of a 16-bit format is exact in f32, so these may be packed.
fn kept(name: &str, tensor: &Tensor, precision: Precision, held: Held) -> Result<Weight, PolicyError> {
    let format = match tensor.dtype() {
        DType::BF16 => GgmlDType::BF16,
        DType::F16 => GgmlDType::F16,
        _ => GgmlDType::F32,
    };
    match *tensor.dims() {
        [outputs, inputs] if held == Held::Packed && Blocks::hold(format, inputs) => {
            let mut bytes = Vec::with_capacity(2 * tensor.elem_count());
            tensor.write_bytes(&mut bytes)?;
            Ok(Weight::Packed(Blocks::new(format, &bytes, [outputs, inputs], |row| row)?.into()))
        }
        _ => Ok(in_format(name, tensor, precision)?.into()),
    }
}

/// A tensor in the format of the layers, except norms, which stay f32.
pub(super) fn in_format(name: &str, tensor: &Tensor, precision: Precision) -> candle_core::Result<Tensor> {
    let is_norm = name.ends_with("norm.weight");
    tensor.to_dtype(if is_norm { DType::F32 } else { precision.format() })
}

/// Refuses the pointer that a clone without Git LFS has in place of a large file. `bytes`: the beginning of the file.
pub(super) fn refuse_pointer(bytes: &[u8], path: &Path) -> Result<(), PolicyError> {
    if !bytes.starts_with(GIT_LFS) {
        return Ok(());
    }
    Err(PolicyError::Incomplete {
        path: path.into(),
        missing: "a Git LFS pointer stands here instead of the file".into(),
        advice: "run `git lfs pull` in its directory".into(),
    })
}

/// Says how much is missing at the end of a safetensors file.
fn shortage(bytes: &[u8]) -> Option<String> {
    let header = usize::try_from(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)).ok()?;
    let names = bytes.get(8..header.checked_add(8)?)?;
    let value: Value = serde_json::from_slice(names).ok()?;
    let ends = value.as_object()?.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    let expected = ends.max()? + header as u64 + 8;
    let found = bytes.len() as u64;
    (found < expected).then(|| format!("{found} of its {expected} bytes are there"))
}

/// Names of the files with a model's weights: `model.safetensors`, which transformers takes first, or the shards that
/// the index names. Whether they are all there is not checked.
pub(super) fn files_of(dir: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    let index = dir.join(INDEX);
    if dir.join(FILE).exists() || !index.exists() { Ok(vec![FILE.into()]) } else { shards(&index) }
}

/// The format of the matrices that a model has in its directory: f32 where they have several. Its files may hold others, such as
/// the head of a value model.
pub(super) fn format_of(dir: &Path, config: &DecoderConfig) -> Result<Precision, PolicyError> {
    let matrices: Vec<String> =
        config.tensors().into_iter().filter(|(_, shape)| shape.len() > 1).map(|(name, _)| name).collect();
    let mut formats = BTreeSet::new();
    for path in files_of(dir)?.into_iter().map(|file| dir.join(file)) {
        let header = header_of(&path).map_err(PolicyError::file(&path))?;
        formats.extend(matrices.iter().filter_map(|name| header[name]["dtype"].as_str().map(str::to_owned)));
    }
    Ok(match formats.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["F16"] => Precision::F16,
        ["BF16"] => Precision::Bf16,
        _ => Precision::F32,
    })
}

/// What a safetensors file says of its tensors, before their numbers.
fn header_of(path: &Path) -> io::Result<Value> {
    let (mut file, mut length) = (BufReader::new(File::open(path)?), [0; 8]);
    file.read_exact(&mut length)?;
    Ok(serde_json::from_reader(file.take(u64::from_le_bytes(length)))?)
}

/// Reads all weights of a model directory.
pub(super) fn read_dir(
    dir: &Path,
    LoadTarget { device, precision }: LoadTarget<'_>,
    held: Held,
) -> Result<BTreeMap<String, Weight>, PolicyError> {
    let mut weights = BTreeMap::new();
    for path in files_of(dir)?.into_iter().map(|file| dir.join(file)) {
        let bytes = std::fs::read(&path).map_err(PolicyError::file(&path))?;
        for (name, tensor) in stored(&bytes, &path, device)? {
            let weight = kept(&name, &tensor, precision, held)?;
            weights.insert(name, weight);
        }
    }
    Ok(weights)
}

/// Names of the shards of an index.
pub(super) fn shards(index: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    let corrupt = |message: String| PolicyError::Corrupt { path: index.into(), format: "safetensors index", message };
    let text = std::fs::read_to_string(index).map_err(PolicyError::file(index))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| corrupt(error.to_string()))?;
    let map = value.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or_else(|| corrupt("no weight_map".into()))?;
    let mut files: Vec<PathBuf> = map.values().filter_map(Value::as_str).map(PathBuf::from).collect();
    files.sort();
    files.dedup();
    // An index must not name files outside its directory.
    match files.iter().find(|file| file.components().count() != 1 || file.file_name().is_none()) {
        Some(file) => Err(corrupt(format!("shard `{}` is not a file name", file.display()))),
        None => Ok(files),
    }
}

/// Writes tensors with the metadata that older readers require.
pub(super) fn write_file<'a>(
    tensors: impl IntoIterator<Item = (&'a String, &'a Tensor)>,
    path: &Path,
) -> Result<(), PolicyError> {
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let tensors: Vec<(&String, Tensor)> = tensors
        .into_iter()
        .map(|(name, tensor)| Ok((name, tensor.detach().to_device(&Device::Cpu)?.contiguous()?)))
        .collect::<candle_core::Result<_>>()?;
    files::write_tensors(tensors, Some(metadata), path).map_err(PolicyError::file(path))
}

/// Fresh weights: norms are one, biases are zero, everything else is normally distributed; projections into the
/// residual stream are smaller the more layers there are.
///
/// Source: Radford et al. 2019, section 2.3, for the scale of the residual projections.
pub(super) fn initial(
    config: &DecoderConfig,
    seed: Seed,
    device: &Device,
) -> Result<BTreeMap<String, Tensor>, PolicyError> {
    let residual_std = INITIAL_STD / (2.0 * config.num_hidden_layers as f64).sqrt();
    let std = |name: &str| match name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") {
        true => residual_std,
        false => INITIAL_STD,
    };
    drawn(config, std, DType::F32, seed, device)
}

/// Random weights: norms are one (zero where 1 is added to them), biases are zero, everything else is normally
/// distributed with a standard deviation by name. They are of type `format`, and each is converted as it is drawn, so that
/// no more than a few are ever there in f32.
pub(super) fn drawn(
    config: &DecoderConfig,
    std: impl Fn(&str) -> f64 + Sync,
    format: DType,
    seed: Seed,
    device: &Device,
) -> Result<BTreeMap<String, Tensor>, PolicyError> {
    let tensors = config.tensors().into_par_iter().enumerate().map(|(index, (name, shape))| {
        let tensor = match shape.as_slice() {
            [_] if name.ends_with(".bias") => Tensor::zeros(shape, DType::F32, device)?,
            [_] if config.model_type.is_gemma() => Tensor::zeros(shape, DType::F32, device)?,
            [_] => Tensor::ones(shape, DType::F32, device)?,
            _ => normal(&shape, std(&name), seed.child(Purpose::Init, index as u64), device)?,
        };
        Ok((name, tensor.to_dtype(format)?))
    });
    tensors.collect()
}

/// Normally distributed numbers (Box and Muller 1958), the same on every device.
pub(super) fn normal(shape: &[usize], std: f64, seed: Seed, device: &Device) -> candle_core::Result<Tensor> {
    let mut rng = seed.rng();
    let count = shape.iter().product::<usize>();
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt() * std;
        let (sin, cos) = (rng.random::<f64>() * std::f64::consts::TAU).sin_cos();
        values.extend([(radius * cos) as f32, (radius * sin) as f32]);
    }
    values.truncate(count);
    Tensor::from_vec(values, shape, device)
}
