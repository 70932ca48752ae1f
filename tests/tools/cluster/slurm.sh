#!/usr/bin/env bash
# The Snakefile on a real SLURM: a cluster of one node on the loopback, in a temporary folder, gone at the end.
#
#   PYTHON=.venv/bin/python tests/tools/cluster/slurm.sh [CHAPTER ...]
#
# Runs the chapters in smoke through the slurm executor, kills snakemake and a running job, runs again, and compares the
# results with those of `vnbook run`. Needs Debian's slurm-wlm and munge and the extra `cluster`; installs nothing, needs
# no root and no accounting database.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
root=$PWD
python=$(command -v "${PYTHON:-.venv/bin/python}") || { echo "PYTHON=${PYTHON:-.venv/bin/python} is not there" >&2; exit 2; }
[[ $python == /* ]] || python=$root/$python
chapters=("$@")
((${#chapters[@]})) || chapters=(FR1_failure FR5_rotation)

PATH=$PATH:/usr/sbin
for tool in munged mungekey slurmctld slurmd sbatch srun squeue scancel; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install slurm-wlm munge" >&2; exit 2; }
done
"$python" -c 'from importlib.util import find_spec as f; exit(not (f("snakemake") and f("snakemake_executor_plugin_slurm")))' ||
  { echo "snakemake is missing: pip install -e '.[cluster]'" >&2; exit 2; }

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }
until_true() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { echo "gave up waiting for: $*" >&2; return 1; }
    sleep 1
  done
}
jobs_in() { squeue --noheader --states="$1" | grep -q .; }
queue_is_empty() { ! jobs_in PENDING,RUNNING,COMPLETING; }
# Processes of this cluster, by what they inherited or were started with: daemons, steps, jobs.
remaining() {
  local pid
  for pid in $(grep -ls "$work/" /proc/[0-9]*/{environ,cmdline} | cut -d/ -f3 | sort -u); do
    if [[ $pid != "$$" && -d /proc/$pid ]]; then echo "$pid"; fi # the search found itself too
  done
}

work=$(mktemp -d "${TMPDIR:-/tmp}/vnbook-slurm.XXXXXX")
pids=()
finish() {
  local code=$? pid left
  trap - EXIT
  trap '' INT TERM
  ((code)) && tail -n 20 "$work"/*.log >&2
  kill "${snakemake:-}" 2>/dev/null || true
  if squeue >/dev/null 2>&1; then
    scancel --user "$(id -un)" || true
    until_true 60 queue_is_empty || true
  fi
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  left=$(remaining)
  if [[ $left ]]; then
    echo "ended by force: $(ps -o pid=,args= -p "${left//$'\n'/,}")" >&2
    xargs kill -9 <<<"$left" 2>/dev/null || true
  fi
  rm -rf "$work"
  say "SLURM is gone"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# --- the cluster ---
user=$(id -un) node=$(hostname -s) cores=$(nproc --all)
mkdir -p "$work"/{bin,state,spool}
mungekey --create --keyfile "$work/munge.key"
munged --foreground --force --socket "$work/munge.socket" --key-file "$work/munge.key" --pid-file "$work/munged.pid" \
  --log-file "$work/munged.log" --seed-file "$work/munge.seed" >/dev/null 2>&1 &
pids+=($!)
cat >"$work/slurm.conf" <<EOF
ClusterName=trial
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
AuthInfo=socket=$work/munge.socket
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
MinJobAge=3600
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cores CoresPerSocket=$cores RealMemory=$(free -m | awk '/^Mem:/ {print $2}')
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
export SLURM_CONF=$work/slurm.conf
# The plugin takes SLURM_* from the environment of a job, so `srun` there has to be told again where the cluster is.
printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$work/bin/srun"
chmod +x "$work/bin/srun"
PATH=$work/bin:$PATH
until_true 60 test -S "$work/munge.socket"
slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >"$work/slurmd.log" 2>&1 &
pids+=($!)
until_true 120 sh -c 'sinfo --noheader --format=%T | grep -q idle'
say "SLURM is up: $(sinfo --version), $(sinfo --noheader --format='%n %c CPUs %m MB %T')"

# --- the run, killed twice, and again ---
results=$work/results
config=(profile=smoke "results_dir=$results" "chapters=$(IFS=,; echo "${chapters[*]}")" device=cpu)
run=("$python" -m snakemake --snakefile "$root/Snakefile" --directory "$work" --profile "$root/workflow/profiles/slurm"
  --slurm-status-command squeue --slurm-init-seconds-before-status-checks 5 --latency-wait 5
  --default-resources slurm_partition=main --config "${config[@]}")
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
done_slices() { find "$results" -name '*.done' 2>/dev/null; }
file_dates() { done_slices | sort | xargs -r stat --format='%n %.9Y'; }

"${run[@]}" >"$work/first.log" 2>&1 &
snakemake=$!
until_true 900 sh -c "find '$results' -name '*.done' | grep -q ."
kill -9 "$snakemake"
wait "$snakemake" 2>/dev/null || true
until_true 300 jobs_in RUNNING
sleep 5 # into the job, past its start
victim=$(squeue --noheader --states=RUNNING --format=%A | head -n 1)
scancel --signal=KILL --full "${victim:?no job was running: choose more chapters}"
ended() { ! squeue --noheader --states=all --jobs="$victim" --format=%T | grep -q -e RUNNING -e COMPLETING; }
until_true 120 ended
say "killed snakemake, and job $victim, which SLURM calls $(squeue --noheader --states=all --jobs="$victim" --format=%T)"
until_true 900 queue_is_empty
before=$(file_dates)
say "the jobs in the queue went on; done by then: $(wc -l <<<"$before") slices"

say "again"
"${run[@]}" --unlock >>"$work/first.log" 2>&1
"${run[@]}" 2>&1 | tee "$work/second.log"
until_true 900 queue_is_empty
[[ -z $(comm -23 <(echo "$before") <(file_dates)) ]] || { echo "slices that were done were run again" >&2; exit 1; }

# --- the same by one process ---
for chapter in "${chapters[@]}"; do
  "$python" -m book.site.cli run "$chapter" -p profile smoke -p device cpu -p results_dir "$work/plain" --quiet >"$work/plain.log" 2>&1
done
"$python" tests/tools/cluster/same.py "$work/plain/smoke" "$results/smoke"
[[ -z $(find "$results" -name '*.runs') ]] || { echo "unmerged runs were left" >&2; exit 1; }
say "the results are identical"
