#include "tests/bench/counts/counted_rows.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <istream>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "node/config/settings.h"
#include "tests/bench/counts/counted_process.h"
#include "tests/bench/counts/counters.h"
#include "tests/bench/counts/syscall_tracer.h"
#include "tests/support/temporary_directory.h"

namespace troupe::bench {
namespace {

namespace fs = std::filesystem;

Variables environment_with(const std::string& name, const std::string& value) {
  Variables variables = process_variables();
  variables.insert_or_assign(name, value);
  return variables;
}

/// Appends a sample of each pair of runs to `samples`.
void sample(CountedProcess& process, const CountedRow& row, int count, const std::function<double()>& counted,
            std::vector<double>& samples) {
  process.run(row.operations);  // fills caches and pools
  for (int i = 0; i < count; ++i) {
    const double before = counted();
    process.run(row.operations);
    const double middle = counted();
    process.run(2 * row.operations);
    const double difference = (counted() - middle) - (middle - before);
    samples.push_back(difference / static_cast<double>(row.operations) / row.divisor);
  }
}

/// Samples what can be read beside running processes.
std::vector<double> plain_samples(const CountedRow& row, const Sampling& sampling,
                                  const std::function<double(const CountedProcess&)>& counted) {
  std::vector<double> samples;
  for (int group = 0; group < sampling.groups; ++group) {
    CountedProcess process(row.work, process_variables(), {});
    process.begin();
    sample(
        process, row, sampling.samples, [&] { return counted(process); }, samples);
    process.end();
  }
  return samples;
}

/// Samples the messages, which the process itself counts.
std::vector<double> message_samples(const CountedRow& row, const Sampling& sampling) {
  std::vector<double> samples;
  for (int group = 0; group < sampling.groups; ++group) {
    CountedProcess process(row.work, process_variables(), {});
    process.begin();
    sample(
        process, row, sampling.samples, [&] { return static_cast<double>(process.run(0)); }, samples);
    process.end();
  }
  return samples;
}

/// The page of the interposer, in a file of `directory`.
class CountersFile {
 public:
  explicit CountersFile(const fs::path& directory) : path_(directory / "counters") {
    const detail::FileDescriptor file(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (ftruncate(file.get(), sizeof(Counters)) != 0) throw std::system_error(errno, std::generic_category(), path_);
    void* page = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path_);
    counters_ = static_cast<Counters*>(page);
  }
  ~CountersFile() { munmap(counters_, sizeof(Counters)); }
  CountersFile(const CountersFile&) = delete;
  CountersFile& operator=(const CountersFile&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] const Counters& counters() const { return *counters_; }

 private:
  fs::path path_;
  Counters* counters_ = nullptr;
};

std::vector<double> interposed_samples(const CountedRow& row, const Sampling& sampling,
                                       std::atomic<std::uint64_t> Counters::*counter) {
  std::vector<double> samples;
  const testing::TemporaryDirectory directory;
  const CountersFile file(directory.path());
  Variables variables = environment_with(kCountersVariable, file.path());
  variables.insert_or_assign("LD_PRELOAD", TROUPE_COUNTS_INTERPOSER);
  for (int group = 0; group < sampling.groups; ++group) {
    CountedProcess process(row.work, variables, {});
    process.begin();
    if (file.counters().mallocs == 0) throw CannotCount("LD_PRELOAD has no effect");
    const auto counted = [&] { return static_cast<double>((file.counters().*counter).load()); };
    sample(process, row, sampling.samples, counted, samples);
    process.end();
  }
  return samples;
}

std::vector<double> syscall_samples(const CountedRow& row, const Sampling& sampling) {
  std::vector<double> samples;
  for (int group = 0; group < sampling.groups; ++group) {
    std::optional<SyscallTracer> tracer;  // outlives the process, whose end it awaits
    CountedProcess process(row.work, process_variables(), {});
    tracer.emplace(process.pid(), Family::with_children);
    process.begin();
    sample(
        process, row, sampling.samples, [&] { return tracer->count(); }, samples);
    process.end();
  }
  return samples;
}

/// Each sample is one second, after some seconds in which the nodes have come to rest. Traced from then on only: among
/// 64 nodes that start at once, one whose every system call waits for the tracer would not get ready in time.
std::vector<double> idle_samples(const CountedRow& row, const Sampling& sampling) {
  constexpr std::chrono::seconds kRest{3};
  constexpr std::chrono::seconds kSample{1};
  std::vector<double> samples;
  std::optional<SyscallTracer> tracer;
  CountedProcess process(row.work, process_variables(), {});
  process.begin();
  tracer.emplace(process.pid(), Family::alone);
  std::this_thread::sleep_for(kRest);
  for (int i = 0; i < sampling.groups * sampling.samples; ++i) {
    const double before = tracer->count();
    std::this_thread::sleep_for(kSample);
    samples.push_back(tracer->count() - before);
  }
  process.end();
  return samples;
}

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::exists(fs::path(folder) / program)) return true;
  }
  return false;
}

/// A program that runs the workload and counts something from its start to its end.
struct Tool {
  std::function<std::vector<std::string>(const fs::path& results)> command;  ///< writes files into that directory
  std::string file_prefix;                                                   ///< of those with counts
  std::function<double(std::istream& file)> read;
};

Tool callgrind() {
  const auto command = [](const fs::path& results) -> std::vector<std::string> {
    return {"valgrind", "--tool=callgrind", "--trace-children=yes",
            fmt::format("--callgrind-out-file={}/count.%p", results.string()),
            fmt::format("--log-file={}/log.%p", results.string())};
  };
  const auto read = [](std::istream& file) {
    double total = 0;
    for (std::string word; file >> word;) {
      if (word == "totals:" && file >> total) break;
    }
    return total;
  };
  return {command, "count.", read};
}

Tool perf() {
  const auto command = [](const fs::path& results) -> std::vector<std::string> {
    return {"perf",
            "stat",
            "--field-separator=,",
            "--event=raw_syscalls:sys_enter",
            fmt::format("--output={}/count", results.string()),
            "--"};
  };
  const auto read = [](std::istream& file) {
    double total = 0;
    for (std::string line; std::getline(file, line);) {  // "7312,,raw_syscalls:sys_enter,..."
      if (line.find(",raw_syscalls") != std::string::npos) total = std::stod(line);
    }
    return total;
  };
  return {command, "count", read};
}

/// Returns the count of a run of all processes, from their start to their end.
double total_of(const CountedRow& row, std::uint64_t operations, const Tool& tool) {
  const testing::TemporaryDirectory directory;
  const std::vector<std::string> command = tool.command(directory.path());
  CountedProcess process(row.work, process_variables(), command);
  try {
    process.begin();
  } catch (const std::runtime_error&) {
    throw CannotCount(command.front() + " does not work here");
  }
  process.run(row.operations);
  process.run(operations);
  process.end();
  double sum = 0;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    if (!entry.path().filename().string().starts_with(tool.file_prefix)) continue;
    std::ifstream file(entry.path());
    sum += tool.read(file);
  }
  if (sum == 0) throw CannotCount(command.front() + " has counted nothing");
  return sum;
}

std::vector<double> tool_samples(const CountedRow& row, const Sampling& sampling, const Tool& tool) {
  const std::string program = tool.command("").front();
  if (!is_installed(program)) throw CannotCount(program + " is not installed");
  std::vector<double> samples;
  for (int group = 0; group < sampling.groups; ++group) {
    const double difference = total_of(row, 2 * row.operations, tool) - total_of(row, row.operations, tool);
    samples.push_back(difference / static_cast<double>(row.operations));
  }
  return samples;
}

}  // namespace

std::vector<CountedRow> counted_rows() {
  using enum Counter;
  constexpr double k4MB = 4e6;
  constexpr double k400MB = 4e8;
  return {{"count/wakeups/none/memory", wakeups, {"none", "memory"}, 300},
          {"count/wakeups/none/ipc", wakeups, {"none", "ipc"}, 300},
          {"count/wakeups/none/tcp", wakeups, {"none", "tcp"}, 300},
          {"count/syscalls/none/memory", syscalls, {"none", "memory"}, 300},
          {"count/syscalls/none/ipc", syscalls, {"none", "ipc"}, 60},
          {"count/syscalls/none/tcp", syscalls, {"none", "tcp"}, 60},
          {"count/syscalls/none/256/memory", syscalls_in_flight, {"none/256", "memory"}, 16384},
          {"count/syscalls/none/256/ipc", syscalls_in_flight, {"none/256", "ipc"}, 16384},
          {"count/syscalls/none/256/tcp", syscalls_in_flight, {"none/256", "tcp"}, 16384},
          {"count/instructions/none", instructions, {"none"}, 400},
          {"count/instructions/none/16", instructions, {"none/16"}, 400},
          {"count/instructions/none/256", instructions, {"none/256"}, 1024},
          {"count/mallocs/none", mallocs, {"none"}, 200},
          {"count/mallocs/4B", mallocs, {"4B"}, 200},
          {"count/mallocs/chain1", mallocs, {"chain1"}, 25},
          {"count/mallocs/chain16", mallocs, {"chain16"}, 10},
          {"count/messages/chain1", messages, {"chain1", "memory"}, 50},
          {"count/messages/chain16", messages, {"chain16", "memory"}, 20},
          {"count/messages/fork_fetch", messages, {"fork_fetch", "memory", 2}, 50},
          {"count/bytes_copied/4MB", bytes_copied, {"4MB"}, 10, k4MB},
          {"count/bytes_copied/400MB", bytes_copied, {"400MB"}, 2, k400MB},
          {"count/page_faults/4MB", page_faults, {"4MB"}, 10},
          {"count/page_faults/400MB", page_faults, {"400MB"}, 2},
          {"idle/syscalls_per_s/1", syscalls_per_second, {"idle", "ipc", 1}, 0},
          {"idle/syscalls_per_s/7", syscalls_per_second, {"idle", "ipc", 7}, 0},
          {"idle/syscalls_per_s/23", syscalls_per_second, {"idle", "ipc", 23}, 0},
          {"idle/syscalls_per_s/63", syscalls_per_second, {"idle", "ipc", 63}, 0}};
}

std::string unit_of(Counter counter) {
  switch (counter) {
    case Counter::wakeups: return "wake-ups";
    case Counter::syscalls:
    case Counter::syscalls_in_flight: return "system calls";
    case Counter::instructions: return "instructions";
    case Counter::mallocs: return "mallocs";
    case Counter::messages: return "messages";
    case Counter::bytes_copied: return "payloads";
    case Counter::page_faults: return "page faults";
    case Counter::syscalls_per_second: return "1/s";
  }
  return "";
}

std::vector<double> samples_of(const CountedRow& row, const Sampling& sampling) {
  const auto read = [](auto member) {
    return [member](const CountedProcess& process) { return static_cast<double>((process.*member)()); };
  };
  try {
    switch (row.counter) {
      case Counter::wakeups: return plain_samples(row, sampling, read(&CountedProcess::wakeups));
      case Counter::page_faults: return plain_samples(row, sampling, read(&CountedProcess::page_faults));
      case Counter::messages: return message_samples(row, sampling);
      case Counter::mallocs: return interposed_samples(row, sampling, &Counters::mallocs);
      case Counter::bytes_copied: return interposed_samples(row, sampling, &Counters::bytes_copied);
      case Counter::syscalls: return syscall_samples(row, sampling);
      case Counter::syscalls_per_second: return idle_samples(row, sampling);
      case Counter::syscalls_in_flight: return tool_samples(row, sampling, perf());
      case Counter::instructions: return tool_samples(row, sampling, callgrind());
    }
  } catch (const CannotTrace& error) {
    throw CannotCount(error.what());
  }
  return {};
}

}  // namespace troupe::bench
