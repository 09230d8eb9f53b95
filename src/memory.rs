//! Memory that this process may still use: the free memory of the machine, within control groups and the process's own limits.
//!
//! Checked before large allocations: beyond it the kernel kills the process, or the allocator aborts it, and neither says what was too
//! large.

use std::fs::read_to_string;
use std::path::Path;

/// Fraction of the free memory that may be used.
const SHARE: f64 = 0.9;

/// Refuses a request that does not fit; `what` begins the message. Passes if the system does not report free memory.
///
/// # Errors
/// The message.
pub fn check_memory(bytes: f64, what: &str) -> Result<(), String> {
    match free_memory() {
        Some(free) if bytes.is_nan() || bytes > SHARE * free => {
            Err(format!("{what} need about {} of memory, {} are free", size(bytes), size(free)))
        }
        _ => Ok(()),
    }
}

/// What is said of data for which the system gives no memory.
pub const DOES_NOT_FIT: &str = "does not fit into the memory that is free";

/// Room for exactly so many more values: a lack of memory is an error, where `Vec::push` would abort.
///
/// # Errors
/// The message.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), String> {
    values.try_reserve_exact(more).map_err(|_| DOES_NOT_FIT.into())
}

/// Room for another `count` values as they are read: where there is none, for as many again as there are, and at least `least`. Growth
/// by more than `many` is compared with the free memory first, at so many bytes a value; `what` begins the message.
///
/// # Errors
/// The message.
pub fn make_room<T>(
    values: &mut Vec<T>,
    (count, least): (usize, usize),
    (many, bytes, what): (usize, f64, &str),
) -> Result<(), String> {
    if values.len() + count <= values.capacity() {
        return Ok(());
    }
    let more = values.len().max(least);
    if more > many {
        check_memory(bytes * more as f64, what)?;
    }
    reserve(values, more)
}

/// Bytes as text with a unit that fits.
pub fn size(bytes: f64) -> String {
    match bytes / f64::from(1 << 20) {
        mib if mib < 1024.0 => format!("{mib:.1} MiB"),
        mib => format!("{:.1} GiB", mib / 1024.0),
    }
}

/// Bytes that this process may still use, the smallest of all limits; `None` if the system reports nothing.
pub fn free_memory() -> Option<f64> {
    let machine = field(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemAvailable:");
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = free_of_groups(Path::new("/sys/fs/cgroup"), &groups);
    let limits = read_to_string("/proc/self/limits").unwrap_or_default();
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    [machine, group, free_of_limits(&limits, &status)].into_iter().flatten().reduce(f64::min)
}

/// Bytes behind a name in the kernel's tables of kibibytes.
fn field(table: &str, name: &str) -> Option<f64> {
    let line = table.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

/// Files of a control group: its limit, its usage, and how much of that the kernel can drop.
type GroupFiles = (&'static str, &'static str, &'static str);

const VERSION_1: GroupFiles =
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ");
const VERSION_2: GroupFiles = ("memory.max", "memory.current", "inactive_file ");

/// The remainder within the process's control groups; the limits of a group's parents apply too. `groups` is /proc/self/cgroup, with lines
/// of the form number:controllers:path.
fn free_of_groups(root: &Path, groups: &str) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (top, files) = match controllers {
            "" => (root.to_path_buf(), VERSION_2),
            list if list.split(',').any(|name| name == "memory") => {
                (root.join("memory"), VERSION_1)
            }
            _ => continue,
        };
        // Inside a container the path can be that of the host, which does not exist here: the container's own group is at the top.
        for above in Path::new(path.trim_start_matches('/')).ancestors() {
            let free = free_of_group(&top.join(above), files);
            least = [least, free].into_iter().flatten().reduce(f64::min);
        }
    }
    least
}

fn free_of_group(folder: &Path, (limit, used, droppable): GroupFiles) -> Option<f64> {
    let number = |name: &str| read_to_string(folder.join(name)).ok()?.trim().parse::<f64>().ok();
    let stat = read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(droppable)?.parse::<f64>().ok());
    Some((number(limit)? - number(used)? + cache.unwrap_or(0.0)).max(0.0))
}

/// The remainder within `ulimit -v` and `ulimit -d`.
fn free_of_limits(limits: &str, status: &str) -> Option<f64> {
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")]
        .into_iter()
        .filter_map(|(name, used)| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
            let limit: f64 = line.split_whitespace().next()?.parse().ok()?;
            Some((limit - field(status, used)?).max(0.0))
        })
        .reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_control_group_counts_and_droppable_cache_is_free() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let free = |groups| free_of_groups(root.path(), groups);
        assert_eq!(free("0::/a/b\n4:memory:/x\n"), None);
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "100\n");
        assert_eq!(free("0::/a/b\n"), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "700\n");
        write("a/memory.stat", "anon 5\ninactive_file 200\n");
        assert_eq!(free("0::/a/b\n"), Some(500.0));
        write("memory/memory.limit_in_bytes", "400\n");
        write("memory/memory.usage_in_bytes", "100\n");
        assert_eq!(free("5:cpu,memory:/outside\n0::/a/b\n"), Some(300.0));
        write("memory/memory.usage_in_bytes", "500\n");
        assert_eq!(free("5:memory:/\n"), Some(0.0));
    }

    #[test]
    fn limits_of_the_process_count() {
        let status = "VmSize:\t 100 kB\nVmData:\t 10 kB\n";
        let limits = |space, data| {
            format!(
                "Max data size  {data}  unlimited  bytes\nMax address space  {space}  unlimited  bytes\n"
            )
        };
        assert_eq!(free_of_limits(&limits("unlimited", "unlimited"), status), None);
        assert_eq!(free_of_limits(&limits("204800", "unlimited"), status), Some(102_400.0));
        assert_eq!(free_of_limits(&limits("204800", "20480"), status), Some(10_240.0));
        assert_eq!(free_of_limits("", ""), None);
    }
}
