#include "actors/future.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <list>
#include <new>
#include <string_view>
#include <tuple>
#include <typeinfo>

#include "actors/calls/exception_types.h"
#include "actors/core/guarded.h"
#include "actors/core/type_name.h"
#include "actors/exceptions.h"
#include "tensor/error.h"
#include "tensor/io/file_error.h"

namespace troupe::detail {
namespace {

/// Returns what the callback of a `then` threw, the exception being handled.
Error error_of_callback(const ExceptionTypes* types) {
  try {
    throw;
  } catch (const RemoteError& error) {
    return error.error();
  } catch (...) {
    return error_of_current_exception({}, "then", types);
  }
}

void warn_of_lost(const Error& thrown) noexcept {
  try {
    const std::string what =
        thrown.exception_type.empty() ? thrown.text() : fmt::format("{}: {}", thrown.exception_type, thrown.message);
    spdlog::warn("a continuation threw and nobody has read its future: {}", what);
  } catch (const std::bad_alloc&) {
    spdlog::warn("a continuation threw and nobody has read its future");
  }
}

/// Returns true if the program defines `type`, which is not of the standard library or of Troupe's own namespace.
bool is_of_program(std::string_view type) {
  constexpr std::string_view kOwn = "troupe::";
  const bool is_own = type.starts_with(kOwn) && type.find("::", kOwn.size()) == std::string_view::npos;
  return !type.starts_with("std::") && !is_own;
}

/// Its end fails a future that was not completed.
class PromiseKeeper {
 public:
  explicit PromiseKeeper(std::shared_ptr<FutureCore> future) : future_(std::move(future)) {}
  ~PromiseKeeper() {
    if (future_->done()) return;
    Error why;  // code: internal
    set_text(why.message, "the promise was dropped without an answer");
    future_->fail(std::move(why));
  }
  PromiseKeeper(const PromiseKeeper&) = delete;
  PromiseKeeper& operator=(const PromiseKeeper&) = delete;

 private:
  const std::shared_ptr<FutureCore> future_;
};

}  // namespace

Error error_of_current_exception(const NodeName& node, std::string operation, const ExceptionTypes* types) {
  Error error;
  error.code = ErrorCode::remote_exception;
  error.execution = Execution::yes;
  error.peer = node;
  error.operation = std::move(operation);
  try {
    throw;
  } catch (const std::exception& exception) {
    error.message = text_of(exception);
    if (dynamic_cast<const DeviceMemoryError*>(&exception) != nullptr) error.code = ErrorCode::device_out_of_memory;
    if (dynamic_cast<const StorageFullError*>(&exception) != nullptr) error.code = ErrorCode::storage_full;
    if (const Error* origin = remote_error_of(exception)) {
      error.exception_type = origin->exception_type;
      error.cause = origin->text();
    } else {
      error.exception_type = type_name(typeid(exception));
    }
    if (types == nullptr) return error;
    types->describe(exception, error);
    if (error.exception.name.empty() && error.hint.empty() && is_of_program(error.exception_type)) {
      error.hint =
          fmt::format("its type {0} is not registered: exception<{0}>(\"name\") does that", error.exception_type);
    }
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    error.exception_type = type != nullptr ? type_name(*type) : "unknown";
    error.message = "an exception that is not a std::exception";
  }
  return error;
}

Error error_of_decoding() noexcept {
  Error error;
  error.code = ErrorCode::decode;
  error.execution = Execution::yes;
  try {
    throw;
  } catch (const RemoteError& described) {
    return copy_of(described.error());
  } catch (const std::bad_alloc&) {
    error.code = ErrorCode::resource_exhausted;
    set_text(error.message, "no memory for the value that came");
  } catch (const DeviceMemoryError& full) {
    error.code = ErrorCode::device_out_of_memory;
    set_text(error.message, text_of(full));
  } catch (const std::exception& exception) {
    set_text(error.message, text_of(exception));
  } catch (...) {
    set_text(error.message, "its type threw what is no std::exception");
  }
  return error;
}

Error error_of_result() noexcept {
  Error error = failure_of_current_exception("the result");
  error.execution = Execution::yes;
  return error;
}

Error cancelled_by_caller() noexcept {
  Error error;
  error.code = ErrorCode::cancelled;
  set_text(error.message, "its caller cancelled it");
  error.execution = Execution::maybe;
  return error;
}

FutureCore::FutureCore(FutureHome home) : home_(std::move(home)), done_(home_.work) {}

FutureCore::~FutureCore() {
  if (thrown_ && !is_asked_for_) warn_of_lost(*thrown_);
}

void FutureCore::fail_with_thrown() {
  Error error = error_of_callback(home_.exceptions.get());
  {
    const std::lock_guard lock(mutex_);
    thrown_ = shared_error(copy_of(error));
  }
  if (fail(std::move(error))) return;
  const std::lock_guard lock(mutex_);
  thrown_ = nullptr;  // cancelled
}

void FutureCore::skip(FutureCore& before, const Error& error) noexcept {
  std::shared_ptr<const Error> thrown;
  {
    const std::lock_guard lock(before.mutex_);
    thrown = before.thrown_;
  }
  {
    const std::lock_guard lock(mutex_);
    thrown_ = thrown;
  }
  if (fail(copy_of(error))) return;
  const std::lock_guard lock(mutex_);
  thrown_ = nullptr;  // cancelled
}

bool FutureCore::claim() {
  std::lock_guard lock(mutex_);
  return !std::exchange(claimed_, true);
}

void FutureCore::wait() {
  end_if_forked();
  done_.wait(std::nullopt);
}

void FutureCore::end_if_forked() {
  if (!home_.executor || home_.executor->is_of_this_process() || done()) return;
  const Error error =
      make_error(ErrorCode::shutting_down, "its node belongs to the process from which this one was forked");
  if (!fail(copy_of(error)) && !done())
    throw RemoteError(copy_of(error));  // a thread that was completing it is not here
}

bool FutureCore::wait_for(Deadline limit) {
  end_if_forked();
  const std::optional<Duration> after = limit.after();
  return done_.wait(after ? later(home_.clock->now(), *after) : std::nullopt);
}

bool FutureCore::complete_later(std::shared_ptr<void> undecoded) {
  if (!claim()) return false;
  undecoded_ = std::move(undecoded);
  publish();
  return true;
}

std::shared_ptr<void> FutureCore::begin_decoding() {
  {
    std::lock_guard lock(mutex_);
    is_asked_for_ = true;
    if (undecoded_) {
      decoding_ = true;
      return std::exchange(undecoded_, nullptr);
    }
    if (!decoding_) return nullptr;
  }
  decoded_.wait(std::nullopt);
  return nullptr;
}

void FutureCore::publish() {
  Callbacks callbacks;
  std::list<std::shared_ptr<void>> held;
  {
    std::lock_guard lock(mutex_);
    held.swap(held_);
  }
  held.clear();  // before any callback can be called
  {
    std::lock_guard lock(mutex_);
    published_ = true;
    callbacks.swap(callbacks_);
    held.swap(held_);
  }
  held.clear();
  done_.signal();
  for (auto& callback : callbacks) run_on_pool(std::move(callback));
}

void FutureCore::hold_until_done(std::shared_ptr<void> held) {
  const std::lock_guard lock(mutex_);
  if (!published_) held_.push_back(std::move(held));
}

FutureCore::Callbacks FutureCore::prepared(Callback callback) {
  Callbacks prepared;
  prepared.push_back(std::make_shared<Callback>(std::move(callback)));
  return prepared;
}

FutureCore::Registration FutureCore::on_done(Callback callback) { return on_done(prepared(std::move(callback))); }

FutureCore::Registration FutureCore::on_done(Callbacks prepared) noexcept {
  {
    std::lock_guard lock(mutex_);
    is_asked_for_ = true;
    if (!published_) {
      const Registration registration = prepared.begin();
      callbacks_.splice(callbacks_.end(), prepared);
      return registration;
    }
  }
  run_on_pool(std::move(prepared.front()));
  return {};
}

void FutureCore::forget(Registration registration) {
  Callbacks forgotten;  // ends after the lock
  const std::lock_guard lock(mutex_);
  if (!published_) forgotten.splice(forgotten.end(), callbacks_, registration);
}

/// Without memory the callback is refused here: whoever completes a future has done so. Otherwise only the job owns it
/// from then on: what it captured may wait when it is destroyed, which the thread that completes the future must not.
void FutureCore::run_on_pool(std::shared_ptr<Callback> callback) noexcept {
  Job job;
  try {
    job = {.label = "then",
           .run = [callback] { (*callback)(nullptr); },
           .refused = [callback](const Error& why) { refuse(callback, why); }};
  } catch (const std::bad_alloc&) {
    return refuse(callback, failure_of_current_exception("then"));
  }
  callback.reset();
  std::ignore = home_.executor->submit(std::move(job));
}

/// A refused callback completes the next future of a chain, whose callback is refused as well: however long the chain
/// is, the stack stays short. The callbacks that are refused meanwhile wait for the one that this thread runs.
void FutureCore::refuse(const std::shared_ptr<Callback>& callback, const Error& why) {
  using Refused = std::list<std::pair<std::shared_ptr<Callback>, Error>>;
  thread_local Refused* waiting = nullptr;
  if (waiting != nullptr) {
    try {
      return static_cast<void>(waiting->emplace_back(callback, copy_of(why)));
    } catch (const std::bad_alloc&) {
      return (*callback)(&why);
    }
  }
  Refused refused;
  struct Running {
    explicit Running(Refused& refused) { waiting = &refused; }
    ~Running() { waiting = nullptr; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  } running(refused);
  (*callback)(&why);
  for (; !refused.empty(); refused.pop_front()) (*refused.front().first)(&refused.front().second);
}

std::shared_ptr<const void> keeper_of(std::shared_ptr<FutureCore> future) {
  return std::make_shared<const PromiseKeeper>(std::move(future));
}

}  // namespace troupe::detail
