#include "node/port/port_core.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "actors/core/guarded.h"
#include "actors/core/promise_guard.h"
#include "actors/core/wait_point.h"
#include "node/links/secret.h"
#include "node/links/tcp_place.h"
#include "node/node_name.h"
#include "node/system_clock.h"

namespace troupe {
namespace {

constexpr std::size_t kFixedThreads = 5;  // the link's, its pulse's, two of ZeroMQ, the clock's
constexpr std::chrono::milliseconds kLastWait{200};
constexpr std::chrono::hours kLongestDeadline{24 * 365};

/// Separates ports from nodes: neither accepts the other's bytes, even with the same secret.
constexpr std::string_view kCluster = "raw/ports";

/// Addresses reserved for documentation (RFC 5737 and 3849): the route to them is the route to other machines.
constexpr std::string_view kElsewhere = "192.0.2.1";
constexpr std::string_view kElsewhereSix = "2001:db8::1";

TimePoint time_now() { return std::chrono::steady_clock::now(); }

ClusterSecret secret_of(const Port::Options& options) {
  if (options.secret.empty()) return ClusterSecret::random();
  if (options.secret.size() != ClusterSecret::kBytes) {
    throw std::invalid_argument(
        fmt::format("[port] secret of {} bytes, expected {}", options.secret.size(), ClusterSecret::kBytes));
  }
  return ClusterSecret::from_bytes(std::as_bytes(std::span{options.secret}).first<ClusterSecret::kBytes>());
}

/// Threads of foreign code, unlike those that serve a node's functions, do not limit OpenMP.
std::shared_ptr<ElasticPool> make_pool(unsigned threads) {
  return std::make_shared<ElasticPool>(
      PoolOptions{.threads = std::max(1U, threads), .threads_max = std::numeric_limits<std::size_t>::max()},
      [](std::function<void()> body) { std::thread(std::move(body)).detach(); });
}

void check_range(std::string_view what, Port::Time value, Port::Time min, Port::Time max) {
  if (value >= min && value <= max) return;
  const auto milliseconds = [](Port::Time time) { return std::chrono::duration<double, std::milli>(time).count(); };
  throw std::invalid_argument(fmt::format("[port] {} of {} ms is not in {} to {} ms", what, milliseconds(value),
                                          milliseconds(min), milliseconds(max)));
}

void check_times(const Port::Options& options) {
  using namespace std::chrono_literals;
  check_range("connect_patience", options.connect_patience, 1ms, 24h);
  check_range("handshake_timeout", options.handshake_timeout, 1ms, 24h);
  check_range("heartbeat", options.heartbeat, 10ms, 10s);
  if (options.lease != Port::Time(0)) check_range("lease", options.lease, 1s, 24h);
}

/// Returns ZmqLinkOptions::advertise for these options. Throws std::invalid_argument.
std::string advertise_of(const Port::Options& options) {
  try {
    if (!options.advertise.empty()) return advertised_place(options.advertise).text();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("[port] {}", error.what()));
  }
  const std::optional<TcpPlace> place = TcpPlace::parse(options.bind);
  if (!place || !is_any_address(place->host)) return {};
  const bool six = place->host == "::";
  const auto own = own_address_toward(std::string(six ? kElsewhereSix : kElsewhere));
  return TcpPlace{own.value_or(six ? "::1" : "127.0.0.1"), "*"}.text();
}

/// Returns what the log says of a port that has failed.
std::string line_of(const Error& why) noexcept {
  try {
    return fmt::format("the port has failed: {}", why.text());
  } catch (const std::bad_alloc&) {
    return "the port failed";  // 15 characters, the most that a string has without an allocation
  }
}

}  // namespace

std::shared_ptr<void> PortCore::Progress::begin(std::shared_ptr<Progress> progress, std::size_t Progress::*count) {
  {
    const std::lock_guard lock(progress->mutex);
    ++((*progress).*count);
  }
  Progress* const counted = progress.get();
  return {counted, [progress = std::move(progress), count](void*) {
            const std::lock_guard lock(progress->mutex);
            --((*progress).*count);
            progress->changed.notify_all();
          }};
}

bool PortCore::Progress::wait(TimePoint due, std::size_t Progress::*count) {
  std::unique_lock lock(mutex);
  return changed.wait_until(lock, due, [this, count] { return this->*count == 0; });
}

bool PortCore::Progress::wait_flushed(TimePoint due) {
  std::unique_lock lock(mutex);
  return changed.wait_until(lock, due, [this] { return flushed; });
}

/// The owners of one message's parts: when the last frame is destroyed, on any thread, the pool releases them.
class PortCore::Owners {
 public:
  Owners(std::vector<std::shared_ptr<const void>> owners, std::shared_ptr<ElasticPool> pool,
         std::shared_ptr<Progress> progress, Process process)
      : owners_(std::move(owners)), pool_(std::move(pool)), progress_(std::move(progress)), process_(process) {}
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;
  ~Owners() {
    if (!process_.is_this()) return;
    try {
      auto under_way = Progress::begin(progress_, &Progress::ending);
      // The job holds them. A pool that has stopped drops the job: then they are released here.
      std::ignore = pool_->submit({"release", [under_way = std::move(under_way), owners = std::move(owners_)] {}});
    } catch (const std::bad_alloc&) {
      return;  // they are released here
    }
  }

 private:
  std::vector<std::shared_ptr<const void>> owners_;
  const std::shared_ptr<ElasticPool> pool_;
  const std::shared_ptr<Progress> progress_;
  const Process process_;
};

/// The destination of one request's answer. Any thread may use it, also after the port is destroyed.
class PortCore::ReturnAddress {
 public:
  ReturnAddress(const std::shared_ptr<PortCore>& core, NodeLife to, RequestId request)
      : core_(core), to_(std::move(to)), request_(request) {
    drop_.push_back(order(*core, std::nullopt));
  }
  ReturnAddress(const ReturnAddress&) = delete;
  ReturnAddress& operator=(const ReturnAddress&) = delete;
  ~ReturnAddress() {
    const auto core = core_.lock();
    if (core && core->is_of_this_process() && !answered_.exchange(true)) core->give(std::move(drop_));
  }

  void answer(Port::Parts parts) {
    const auto core = core_.lock();
    if (!core || !core->is_of_this_process()) return;
    Orders orders;
    orders.push_back(order(*core, port::to_body(core->released_later(std::move(parts)))));
    if (!answered_.exchange(true)) core->give(std::move(orders));
  }

 private:
  [[nodiscard]] Order order(PortCore& core, std::optional<port::Body> body) const {
    return [&core, to = to_, request = request_, body = std::move(body)](TimePoint now) mutable {
      core.router_.answer(now, to, request, std::move(body));
    };
  }

  const std::weak_ptr<PortCore> core_;
  const NodeLife to_;
  const RequestId request_;
  Orders drop_;  ///< made beforehand: the destructor has no memory to ask for
  std::atomic<bool> answered_{false};
};

void PortCore::serve(port::Request request) {
  if (stopping_) return;  // its peer sees this port go
  if (serve_) return serve_now(std::move(request));
  early_.push_back(std::move(request));
}

void PortCore::serve_now(port::Request request) {
  auto answer = std::make_shared<ReturnAddress>(shared_from_this(), request.from, request.id);
  auto job = [under_way = Progress::begin(progress_, &Progress::serving), weak = weak_from_this(), serve = serve_,
              request = std::move(request), answer = std::move(answer)]() mutable {
    if (const auto core = weak.lock(); !core || core->stopping_) return;
    if (request.due && *request.due <= time_now()) return;  // its caller has stopped waiting
    (*serve)(request.from.name, request.tag, port::to_parts(std::exchange(request.body, {})),
             [answer = std::move(answer)](Port::Parts parts) { answer->answer(std::move(parts)); });
  };
  std::ignore = servers_->submit({"serve", std::move(job)});
}

void PortCore::end(std::shared_ptr<port::Ending> ending, Port::Outcome outcome, port::Body body,
                   std::string why) noexcept {
  ending->end(outcome, std::move(body), std::move(why));
  try {
    std::ignore = enders_->submit({"done", [ending = std::move(ending)] { ending->tell(); }});
  } catch (const std::bad_alloc&) {
    return;  // told here by its destructor, as when the pool drops the job
  }
}

Port::Parts PortCore::released_later(Port::Parts parts) const {
  std::vector<std::shared_ptr<const void>> held;
  for (const Port::Part& part : parts) {
    if (part.owner) held.push_back(part.owner);
  }
  if (held.empty()) return parts;
  const auto owners = std::make_shared<Owners>(std::move(held), enders_, progress_, process_);
  for (Port::Part& part : parts) {
    if (part.owner) part.owner = std::shared_ptr<const void>(owners, part.data);
  }
  return parts;
}

void PortCore::give(Order order) {
  Orders orders;
  orders.push_back(std::move(order));
  give(std::move(orders));
}

void PortCore::give(Orders orders) noexcept {
  {
    const std::lock_guard lock(orders_mutex_);
    orders_.splice(orders_.end(), orders);
    if (std::exchange(working_, true)) return;
  }
  work();
}

void PortCore::work() noexcept {
  while (true) {
    Orders orders;
    {
      const std::lock_guard lock(orders_mutex_);
      orders.swap(orders_);
      working_ = !orders.empty();
    }
    if (orders.empty()) return;
    const TimePoint now = time_now();
    for (const Order& order : orders) obey(order, now);
    obey([this](TimePoint at) { settle(at); }, now);
  }
}

/// An exception of an order, in most cases for lack of memory, is the port's failure.
void PortCore::obey(const Order& order, TimePoint now) noexcept {
  try {
    order(now);
  } catch (...) {
    fail(detail::failure_of_current_exception("order"));
  }
}

/// Ends all calls, now and later, if need be without memory.
void PortCore::fail(const Error& why) noexcept {
  try {
    warn(line_of(why));
  } catch (const std::bad_alloc&) {
    // The log had none either: the calls' ends have to do.
  }
  router_.end_calls();
}

/// Ends every turn: reports the last acknowledgement to its waiter, and requests a wake-up for the next due work.
void PortCore::settle(TimePoint now) {
  if (flushing_ && router_.flushed()) {
    flushing_ = false;
    const std::lock_guard lock(progress_->mutex);
    progress_->flushed = true;
    progress_->changed.notify_all();
  }
  const auto due = router_.next_due();
  if (!clock_ || !due || !wakes_.misses(*due)) return;
  const TimePoint at = wakes_.time_for(*due, now);
  clock_->at(at, [weak = weak_from_this()] {
    const auto core = weak.lock();
    if (!core) return;
    core->give([core = core.get()](TimePoint then) {
      if (core->wakes_.came(then)) core->router_.tick(then);
    });
  });
  wakes_.requested(at);  // last: without memory for a timer there is none
}

/// An order that its giver waits for, once.
class PortCore::Step {
 public:
  explicit Step(std::function<void()> work) {
    orders_.push_back([this, work = std::move(work)](TimePoint) {
      const detail::WhenGone told([this] { done_.signal(); });  // signals also if the work throws
      work();
    });
  }

  void take(PortCore& core) {
    core.give(std::move(orders_));
    done_.wait(std::nullopt);
  }

 private:
  detail::WaitPoint done_;
  Orders orders_;
};

/// The steps of `stop`, made with the port: its destructor has no memory to ask for.
struct PortCore::Steps {
  explicit Steps(PortCore& core)
      : end_calls([&core] {
          core.early_.clear();
          core.router_.end_calls();
        }),
        flush([&core] { core.flushing_ = true; }),
        close([&core] { core.router_.close(); }),
        leave([this, &core] {
          link = std::move(core.link_);
          clock = std::move(core.clock_);
        }) {}

  Step end_calls;
  Step flush;
  Step close;
  Step leave;
  std::unique_ptr<ZmqLink> link;  ///< set by `leave`, as the clock
  std::shared_ptr<Clock> clock;
};

std::shared_ptr<PortCore> PortCore::open(Port::Options options) {
  check_times(options);
  if (sodium_init() < 0) throw std::runtime_error("[port] libsodium cannot start");
  ZmqLinkOptions link;
  link.name = options.name;
  randombytes_buf(&link.incarnation, sizeof link.incarnation);
  link.cluster_id = kCluster;
  link.secret = secret_of(options);
  link.bind = options.bind;
  link.advertise = advertise_of(options);
  if (options.trusted_network) link.exposure = ZmqLinkOptions::Exposure::network;
  link.connect_patience = options.connect_patience;
  link.handshake_timeout = options.handshake_timeout;
  link.repeats_up = true;  // each attempt of the router ends
  link.silence.heartbeat_min = options.heartbeat;
  link.silence.heartbeat_max = std::max<Duration>(link.silence.heartbeat_max, options.heartbeat);
  link.silence.lease = options.lease > Port::Time(0) ? options.lease : kEndlessLease;
  link.log = [log = options.log](std::string_view line) {
    if (log) log(std::string(line));
  };
  const Incarnation incarnation = link.incarnation;
  auto opened = ZmqLink::open(std::move(link));
  if (!opened) throw std::runtime_error("[port] " + opened.error().text());
  Peer self{options.name, incarnation, opened.value()->address()};
  std::shared_ptr<PortCore> core(new PortCore(std::move(self), options, std::move(opened).value()));
  core->link_->start(*core);
  return core;
}

PortCore::PortCore(Peer self, const Port::Options& options, std::unique_ptr<ZmqLink> link)
    : self_(std::move(self)),
      log_(options.log),
      servers_(make_pool(options.threads)),
      enders_(make_pool(options.threads)),
      fixed_threads_(kFixedThreads),
      link_(std::move(link)),
      clock_(make_system_clock()),
      packing_{.hashed = link_ && !link_->guards_bytes()},
      router_(self_, options.connect_patience, *this, packing_),
      steps_(std::make_unique<Steps>(*this)) {}

PortCore::~PortCore() = default;

void PortCore::connect(const std::string& name, const std::string& address) {
  if (!is_valid_node_name(name)) {
    throw std::invalid_argument(fmt::format("[port] \"{}\" is not {}", name, kNodeNameRule));
  }
  if (!is_of_this_process()) return;
  give([this, name, address](TimePoint now) { router_.connect(now, name, address); });
}

void PortCore::remove(const std::string& name) {
  if (!is_of_this_process()) return;
  give([this, name](TimePoint) { router_.remove(name); });
}

void PortCore::call(const std::string& peer, std::uint64_t tag, Port::Parts parts, Port::Time deadline,
                    Port::Done done) {
  if (!is_of_this_process()) {
    return done({Port::Outcome::stopped, {}, "the port belongs to the process that this one was forked from"});
  }
  port::Body body = port::to_body(released_later(std::move(parts)));
  const TimePoint now = time_now();
  const auto due = deadline <= kLongestDeadline ? std::optional(now + deadline) : std::nullopt;
  auto made = std::make_shared<port::Ending>(open_, Progress::begin(progress_, &Progress::ending));
  port::Ending& ending = *made;
  Orders orders;
  orders.push_back([this, call = port::Call{peer, tag, std::move(body), now, due, std::move(made)}](
                       TimePoint at) mutable { router_.call(at, std::move(call)); });
  // From here on nothing throws. What has thrown before has made no call.
  started_.fetch_add(1);
  ending.expect(std::move(done));
  give(std::move(orders));
}

void PortCore::start(Port::Serve serve) {
  if (!is_of_this_process()) return;
  if (serving_.exchange(true)) throw std::logic_error("[port] start: requests are served already");
  give([this, serve = std::make_shared<const Port::Serve>(std::move(serve))](TimePoint) {
    serve_ = serve;
    for (port::Request& request : std::exchange(early_, {})) serve_now(std::move(request));
  });
}

void PortCore::set_fault(std::uint64_t tag, Port::Fault fault) {
  if (!is_of_this_process()) return;
  give([this, tag, fault](TimePoint) { router_.set_fault(tag, fault); });
}

Port::Counts PortCore::counts() const {
  if (!is_of_this_process()) return {open_->load(), started_.load(), 0};
  return {open_->load(), started_.load(), fixed_threads_.load() + servers_->thread_count() + enders_->thread_count()};
}

bool PortCore::stop(Port::Time grace) {
  if (!is_of_this_process()) return true;
  {
    std::unique_lock lock(stop_mutex_);
    stop_done_.wait(lock, [this] { return stop_ != Stop::under_way; });
    if (stop_ != Stop::no) return stop_ == Stop::clean;
    stop_ = Stop::under_way;
  }
  const bool clean = stop_once(time_now() + std::min<Port::Time>(grace, kLongestDeadline));
  const std::lock_guard lock(stop_mutex_);
  stop_ = clean ? Stop::clean : Stop::late;
  stop_done_.notify_all();
  return clean;
}

bool PortCore::stop_once(TimePoint due) {
  stopping_ = true;
  steps_->end_calls.take(*this);
  bool clean = progress_->wait(due, &Progress::serving);
  // An earlier answer is an earlier order: by now it counts as not flushed.
  steps_->flush.take(*this);
  clean = progress_->wait_flushed(due) && clean;
  steps_->close.take(*this);
  steps_->leave.take(*this);
  steps_->link->stop();
  steps_->link.reset();  // releases the last bytes that ZeroMQ holds, and their owners
  steps_->clock.reset();
  fixed_threads_ = 0;
  const TimePoint last = std::max(due, time_now() + kLastWait);
  clean = progress_->wait(last, &Progress::ending) && clean;
  clean = servers_->stop(last).empty() && clean;
  return enders_->stop(last).empty() && clean;
}

void PortCore::on_link_up(const Peer& peer) {
  give([this, peer](TimePoint now) { router_.link_up(now, peer); });
}

void PortCore::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) {
  if (packing_.hashed && !is_intact(frames)) return;  // counts as lost, and is sent again
  give([this, from, incarnation, frames = std::move(frames)](TimePoint now) mutable {
    router_.frames(now, from, incarnation, std::move(frames));
  });
}

void PortCore::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  give([this, peer, incarnation, why](TimePoint) { router_.link_down(peer, incarnation, why); });
}

void PortCore::on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  if (change != Reach::down) return;
  give([this, peer, incarnation, silence](TimePoint) { router_.silent(peer, incarnation, silence); });
}

void PortCore::on_link_failed(const Error& why) {
  give([this, why](TimePoint) { fail(why); });
}

void PortCore::on_connect_failed(std::string_view address, const Error& why) {
  give([this, address = std::string(address), why](TimePoint now) { router_.connect_failed(now, address, why); });
}

void PortCore::connect(const std::string& address) {
  if (link_) link_->connect(address);
}

void PortCore::stop_connecting(const std::string& address) {
  if (link_) link_->stop_connecting(address);
}

void PortCore::disconnect(const NodeName& peer, const Farewell& farewell) {
  if (link_) link_->disconnect(peer, farewell);
}

void PortCore::transmit(const NodeName& to, LinkLane lane, Frames packet) {
  if (link_) link_->send(to, lane, std::move(packet));
}

void PortCore::warn(const std::string& line) {
  if (log_) log_(line);
}

}  // namespace troupe
