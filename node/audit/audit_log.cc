#include "node/audit/audit_log.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace troupe {

Result<std::shared_ptr<AuditLog>> AuditLog::open(AuditLogOptions options) {
  auto file = AuditFile::open(options.path, options.bytes_max);
  if (!file) return file.error();
  return std::shared_ptr<AuditLog>(new AuditLog(std::move(options), std::move(file).value()));
}

AuditLog::AuditLog(AuditLogOptions options, AuditFile file)
    : options_(std::move(options)), file_(std::move(file)), chain_(options_.node) {
  chain_.go_on_after(file_.tail());
  write({{.event = AuditEvent::opened}, 1, std::chrono::system_clock::now()});
  thread_ = std::thread([this] { run(); });
}

AuditLog::~AuditLog() { close(); }

void AuditLog::add(AuditEntry entry) {
  bool is_ready = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      ++lost_;
      return;
    }
    merge_.add(std::move(entry), std::chrono::steady_clock::now(), std::chrono::system_clock::now());
    is_ready = merge_.is_ready();
  }
  if (is_ready) changed_.notify_one();
}

void AuditLog::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = ++flushes_asked_;
  changed_.notify_one();
  flushed_.wait(lock, [&] { return flushes_done_ >= ticket || closing_; });
}

void AuditLog::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  flushed_.notify_all();
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void AuditLog::run() {
  while (true) {
    std::vector<AuditMerge::Counted> counted;
    std::uint64_t ticket = 0;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [this] { return closing_ || flushes_asked_ > flushes_done_ || merge_.is_ready(); };
      if (const auto due = merge_.next_due()) {
        changed_.wait_until(lock, *due, has_work);
      } else {
        changed_.wait(lock, has_work);
      }
      ticket = flushes_asked_;
      last = closing_;
      const bool all = closing_ || ticket > flushes_done_;
      counted = all ? merge_.take_all() : merge_.take(std::chrono::steady_clock::now());
    }
    for (const AuditMerge::Counted& each : counted) write(each);
    if (last) break;
    const std::lock_guard lock(mutex_);
    flushes_done_ = ticket;
    flushed_.notify_all();
  }
  write({{.event = AuditEvent::closed}, 1, std::chrono::system_clock::now()});
  file_.sync();
}

void AuditLog::write(const AuditMerge::Counted& counted) {
  if (unsaid_ > 0 && put({{.event = AuditEvent::lost}, unsaid_, counted.time})) unsaid_ = 0;
  if (unsaid_ == 0 && put(counted)) return;
  unsaid_ += counted.count;
  lost_ += counted.count;
}

bool AuditLog::put(const AuditMerge::Counted& counted) {
  const std::string line = chain_.line_of(counted);
  const auto appended = file_.append(line);
  if (appended) {
    chain_.written(line);
    return true;
  }
  if (!std::exchange(warned_, true) && options_.warn)
    options_.warn(fmt::format("the audit log has gaps: {}", appended.error().message));
  return false;
}

}  // namespace troupe
