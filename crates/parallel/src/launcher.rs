//! Recognises the launcher of this process by its environment variables.

/// Looks up an environment variable.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The variable with the path of the MPI library, in case the loader does not find it or finds another one.
const LIBRARY: &str = "GRPO_2048_MPI";
/// The names of the libraries of an implementation.
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so"];
const MPICH: &[&str] = &["libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.0"];
const ANY: &[&str] = &["libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.0", "libmpi.so"];

/// The known launchers: name, a variable that only their processes have, the variable with the number of processes, and
/// the libraries that belong to them. Inside a job of Slurm, processes of other launchers have variables of Slurm too:
/// those of the job's script, or of the daemons that `srun` has started for the launcher.
const LAUNCHERS: &[(&str, &str, Option<&str>, &[&str])] = &[
    ("mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", Some("OMPI_COMM_WORLD_SIZE"), OPEN_MPI),
    ("prterun of PRRTE", "PRTE_LAUNCHED", None, ANY),
    ("mpiexec of MPICH", "PMI_RANK", Some("PMI_SIZE"), MPICH),
    ("flux run", "FLUX_TASK_RANK", Some("FLUX_JOB_SIZE"), ANY),
    // A script of sbatch has no number of tasks.
    ("srun of Slurm", "SLURM_STEP_NUM_TASKS", Some("SLURM_STEP_NUM_TASKS"), ANY),
    ("a launcher with PMIx", "PMIX_RANK", None, ANY),
];

/// A start by a launcher, of more than one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    pub launcher: &'static str,
    /// The environment variable that it is known by.
    pub variable: &'static str,
    /// The number of processes, if the launcher sets it.
    pub size: Option<usize>,
    libraries: &'static [&'static str],
}

impl Launched {
    /// The launcher of this process; none if there is none or if it started one process.
    pub fn by(environment: &Variables<'_>) -> Option<Launched> {
        let (launcher, variable, size, libraries) = LAUNCHERS.iter().find(|(_, own, ..)| environment(own).is_some())?;
        let size = size.and_then(environment).and_then(|size| size.parse().ok());
        let several = size.is_none_or(|size: usize| size > 1);
        several.then_some(Launched { launcher, variable, size, libraries })
    }

    /// The names of the libraries to try, in this order.
    pub(super) fn libraries(&self, environment: &Variables<'_>) -> Vec<String> {
        named(environment, self.libraries)
    }
}

fn named(environment: &Variables<'_>, otherwise: &[&str]) -> Vec<String> {
    match environment(LIBRARY).filter(|path| !path.is_empty()) {
        Some(path) => vec![path],
        None => otherwise.iter().map(|&file| file.to_owned()).collect(),
    }
}

/// File and version of the MPI library that is found, with or without a launcher; or why there is none.
pub fn library(environment: &Variables<'_>) -> Result<(String, String), Vec<String>> {
    grpo_mpi::find(&named(environment, ANY)).map(|found| (found.file, found.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> Option<(&'static str, Option<usize>)> {
        let look =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Launched::by(&look).map(|launched| (launched.launcher, launched.size))
    }

    #[test]
    fn a_launcher_is_known_by_its_variables_and_one_process_is_alone() {
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1"), ("SLURM_PROCID", "1")];
        assert_eq!(launched(&open_mpi), Some(("mpirun of Open MPI", Some(4))));
        assert_eq!(launched(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Some(("mpiexec of MPICH", Some(2))));
        let step = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "16")];
        assert_eq!(launched(&step), Some(("srun of Slurm", Some(16))));
        assert_eq!(launched(&[("PMIX_RANK", "3")]), Some(("a launcher with PMIx", None)));
        assert_eq!(launched(&[]), None);
        assert_eq!(launched(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]), None);
        assert_eq!(launched(&[("SLURM_PROCID", "0")]), None, "a script of sbatch");
        assert_eq!(launched(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
    }

    #[test]
    fn a_launcher_inside_a_job_of_slurm_is_not_taken_for_srun() {
        let script = [("SLURM_PROCID", "0"), ("PMIX_RANK", "3")];
        assert_eq!(launched(&script), Some(("a launcher with PMIx", None)), "in a script of sbatch");
        let of_daemons = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("PMIX_RANK", "3")];
        let by_prterun = [&of_daemons[..], &[("PRTE_LAUNCHED", "1")]].concat();
        assert_eq!(launched(&by_prterun), Some(("prterun of PRRTE", None)));
        let by_flux = [&of_daemons[..], &[("FLUX_TASK_RANK", "3"), ("FLUX_JOB_SIZE", "4")]].concat();
        assert_eq!(launched(&by_flux), Some(("flux run", Some(4))));
    }
}
