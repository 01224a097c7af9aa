// Tensors on a GPU that two processes use go from one to the other within the GPU; all others by way of the CPU. The
// GPUs of these tests are memory of the CPU.
#include "node/links/shared_memory/shared_link.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "node/links/shared_memory/shared_table.h"
#include "tests/node/links/shared_memory/fake_gpus.h"
#include "tests/node/links/shared_memory/nodes_by_hand.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::SharedControl;
using detail::SharedEntry;

SharedLinkOptions with_gpus(std::shared_ptr<FakeGpus> gpus, std::size_t bytes_max = 64 * kMib) {
  const std::string process = gpus->process;
  return {.bytes_max = bytes_max, .gpus = std::move(gpus), .process = process};
}

Frame on_gpu(Frame frame) {
  frame.device = Device::cuda(0);
  return frame;
}

/// Nodes a and b, as if of two processes. `a` has offered b its GPU.
struct TwoWithGpus : Two {
  explicit TwoWithGpus(std::shared_ptr<FakeHost> on, std::shared_ptr<FakeGpus> its_a, std::shared_ptr<FakeGpus> its_b,
                       std::size_t bytes_max = 64 * kMib)
      : Two(with_gpus(its_a, bytes_max), with_gpus(its_b, bytes_max)), host(std::move(on)), of_a(its_a), of_b(its_b) {
    const Frames first = shared({random_frame(kMib, random)});
    BOOST_TEST((first[0].memory == FrameMemory::own));
    settle();
  }
  TwoWithGpus() : TwoWithGpus(std::make_shared<FakeHost>()) {}
  explicit TwoWithGpus(const std::shared_ptr<FakeHost>& on, std::size_t bytes_max = 64 * kMib)
      : TwoWithGpus(on, std::make_shared<FakeGpus>(on, "a"), std::make_shared<FakeGpus>(on, "b"), bytes_max) {}

  /// Returns what a's link makes of tensors on the GPU for b.
  Frames shared(Frames tensors) {
    Frames message{frame_of("header"), frame_of("body")};
    for (Frame& tensor : tensors) message.push_back(on_gpu(std::move(tensor)));
    a.link->share("b", message);
    message.erase(message.begin(), message.begin() + 2);
    return message;
  }
  /// What either link has told the other by now has arrived when this returns.
  void settle() {
    static_cast<void>(pass({}));
    b.send("a", {});
    a.sink.wait_messages(1);
    a.sink.forget_messages();
  }
  /// Waits until b holds no lease.
  void wait_no_leases() {
    until([this] {
      Frames none;
      a.link->share("b", none);
      return use_of(a).leases == 0;
    });
  }

  std::shared_ptr<FakeHost> host;
  std::shared_ptr<FakeGpus> of_a;
  std::shared_ptr<FakeGpus> of_b;
};

BOOST_AUTO_TEST_SUITE(shared_link_gpu)

BOOST_AUTO_TEST_CASE(a_tensor_on_a_gpu_of_both_arrives_there_with_one_of_the_cpu_beside_it) {
  TwoWithGpus two;
  const Frame sent = random_frame(4 * kMib, two.random);
  const Frame beside = random_frame(kMib, two.random);
  const Frames arrived = two.pass({on_gpu(sent), beside});
  BOOST_TEST((arrived.at(0).memory == FrameMemory::foreign && arrived[0].device == Device::cuda(0)));
  BOOST_TEST(equal(arrived[0], sent));
  BOOST_TEST((arrived.at(1).memory == FrameMemory::foreign && arrived[1].device == Device::cpu()));
  BOOST_TEST(equal(arrived[1], beside));
  BOOST_TEST(use_of(two.a).bytes_copied == 5 * kMib);
}

BOOST_AUTO_TEST_CASE(its_lease_returns_after_the_receivers_work_and_its_block_serves_the_next) {
  TwoWithGpus two;
  for (int i = 0; i < 5; ++i) {
    const Frame sent = random_frame(kMib, two.random);
    Frames arrived = two.pass({on_gpu(sent)});
    BOOST_TEST(equal(arrived[0], sent));
    BOOST_TEST(use_of(two.a).leases == 1U);
    BOOST_TEST(two.of_b->finished == i);
    arrived.clear();
    BOOST_TEST(two.of_b->finished == i + 1);
    two.wait_no_leases();
  }
  BOOST_TEST(two.host->live == 1);
  BOOST_TEST(two.host->opened == 1);
}

BOOST_AUTO_TEST_CASE(blocks_that_are_held_are_not_written) {
  TwoWithGpus two;
  std::vector<std::pair<Frame, Frame>> held;
  for (int i = 0; i < 20; ++i) {
    const Frame sent = random_frame(kMib + static_cast<std::size_t>(i), two.random);
    held.emplace_back(sent, two.pass({on_gpu(sent)}).at(0));
    if (i % 3 == 2) held.erase(held.begin());
    for (const auto& [before, now] : held) BOOST_REQUIRE(equal(before, now));
  }
}

BOOST_AUTO_TEST_CASE(small_tensors_and_those_beyond_the_limit_are_left_to_the_cpu) {
  TwoWithGpus two(std::make_shared<FakeHost>(), 4 * kMib);
  BOOST_TEST((two.shared({random_frame(1000, two.random)})[0].memory == FrameMemory::own));
  BOOST_TEST((two.shared({random_frame(5 * kMib, two.random)})[0].memory == FrameMemory::own));
  const Frames held = two.shared({random_frame(3 * kMib, two.random)});
  BOOST_TEST((held[0].memory == FrameMemory::leased));
  BOOST_TEST((two.shared({random_frame(3 * kMib, two.random)})[0].memory == FrameMemory::own));
}

BOOST_AUTO_TEST_CASE(processes_without_a_gpu_in_common_share_none) {
  const auto host = std::make_shared<FakeHost>();
  const auto one = std::make_shared<FakeGpus>(host, "a");
  const auto other = std::make_shared<FakeGpus>(host, "b", std::vector<std::string>{"uuid-of-another"});
  TwoWithGpus two(host, one, other);
  BOOST_TEST((two.shared({random_frame(kMib, two.random)})[0].memory == FrameMemory::own));
  BOOST_TEST(host->live == 0);
}

// To open a block there would make a context on the GPU, which takes hundreds of MB.
BOOST_AUTO_TEST_CASE(a_process_that_only_sees_a_gpu_opens_no_blocks_until_it_uses_it) {
  const auto host = std::make_shared<FakeHost>();
  const auto other = std::make_shared<FakeGpus>(host, "b");
  other->works = false;
  TwoWithGpus two(host, std::make_shared<FakeGpus>(host, "a"), other);
  const auto travels = [&] {
    Frames tensors = two.shared({random_frame(kMib, two.random)});
    BOOST_TEST((tensors[0].memory == FrameMemory::own));
    tensors[0].device = Device::cpu();  // as the session copies it
    two.a.link->send("b", LinkLane::bulk, {frame_of("session"), frame_of("header"), frame_of("body"), tensors[0]});
    two.b.sink.wait_messages(1);
    two.b.sink.forget_messages();
    two.settle();
  };
  travels();
  travels();
  BOOST_TEST(host->live == 0);
  other->works = true;
  travels();
  const Frame sent = random_frame(kMib, two.random);
  const Frames arrived = two.pass({on_gpu(sent)});
  BOOST_TEST((arrived[0].device == Device::cuda(0)));
  BOOST_TEST(equal(arrived[0], sent));
}

BOOST_AUTO_TEST_CASE(a_gpu_may_have_another_number_at_the_receiver) {
  const auto host = std::make_shared<FakeHost>();
  const auto one = std::make_shared<FakeGpus>(host, "a");
  const auto other = std::make_shared<FakeGpus>(host, "b", std::vector<std::string>{"its-own", "uuid-of-gpu-0"});
  TwoWithGpus two(host, one, other);
  const Frame sent = random_frame(kMib, two.random);
  const Frames arrived = two.pass({on_gpu(sent)});
  BOOST_TEST((arrived[0].device == Device::cuda(1)));
  BOOST_TEST(equal(arrived[0], sent));
}

BOOST_AUTO_TEST_CASE(nodes_of_one_process_share_no_gpu_memory) {
  const auto host = std::make_shared<FakeHost>();
  TwoWithGpus two(host, std::make_shared<FakeGpus>(host, "a"), std::make_shared<FakeGpus>(host, "a"));
  BOOST_TEST((two.shared({random_frame(kMib, two.random)})[0].memory == FrameMemory::own));
}

BOOST_AUTO_TEST_CASE(a_block_that_cannot_be_opened_is_missing_in_one_message_and_the_last) {
  TwoWithGpus two;
  two.of_b->opens = false;
  Frames arrived = two.pass({on_gpu(random_frame(kMib, two.random))});
  BOOST_TEST((arrived.at(0).memory == FrameMemory::missing && arrived[0].bytes.empty()));
  arrived.clear();
  two.wait_no_leases();
  two.settle();
  BOOST_TEST((two.shared({random_frame(kMib, two.random)})[0].memory == FrameMemory::own));
}

BOOST_AUTO_TEST_CASE(unused_blocks_are_freed_once_the_peer_has_closed_them) {
  TwoWithGpus two;
  Frames held = two.pass({on_gpu(random_frame(kMib, two.random))});
  const auto later = std::chrono::steady_clock::now() + 1h;
  two.a.link->release_unused(later, 5s);
  two.settle();
  BOOST_TEST(two.host->live == 1);  // in use
  held.clear();
  two.wait_no_leases();
  two.a.link->release_unused(later, 5s);
  two.settle();
  until([&] { return two.host->live == 0; });
  BOOST_TEST(two.host->open_now == 0);
  BOOST_TEST(two.host->freed_while_open == 0);
  // The next one is in a new block.
  const Frame sent = random_frame(kMib, two.random);
  BOOST_TEST(equal(two.pass({on_gpu(sent)})[0], sent));
}

// Their bytes tell the node that there is memory to give back.
BOOST_AUTO_TEST_CASE(bytes_of_blocks_are_counted_until_the_peer_has_closed_them) {
  TwoWithGpus two;
  BOOST_TEST(use_of(two.a).gpu_bytes == 0U);
  Frames arrived = two.pass({on_gpu(random_frame(kMib, two.random))});
  BOOST_TEST(use_of(two.a).gpu_bytes == kMib);
  BOOST_TEST(use_of(two.a).bytes == 0U);
  BOOST_TEST(use_of(two.b).gpu_bytes == 0U);  // it is memory of a
  arrived.clear();
  two.wait_no_leases();
  BOOST_TEST(use_of(two.a).gpu_bytes == kMib);
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  two.settle();
  until([&] { return use_of(two.a).gpu_bytes == 0; });
  BOOST_TEST(two.host->live == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_went_down_keeps_its_blocks_until_its_last_frame_is_dropped) {
  TwoWithGpus two;
  const Frame sent = random_frame(kMib, two.random);
  Frames held = two.pass({on_gpu(sent)});
  two.b.link->disconnect("a", {});
  two.a.sink.wait_downs(1);
  two.b.sink.wait_downs(1);
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  BOOST_TEST(two.host->live == 1);
  BOOST_TEST(equal(held[0], sent));
  held.clear();
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  BOOST_TEST(two.host->live == 0);
  BOOST_TEST(two.host->freed_while_open == 0);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_never_sent_holds_no_block) {
  TwoWithGpus two;
  static_cast<void>(two.shared({random_frame(kMib, two.random)}));
  BOOST_TEST(use_of(two.a).leases == 0U);
  static_cast<void>(two.shared({random_frame(kMib, two.random)}));
  BOOST_TEST(two.host->live == 1);
}

BOOST_AUTO_TEST_CASE(a_packet_that_is_sent_twice_has_one_lease) {
  TwoWithGpus two;
  const Frame sent = random_frame(kMib, two.random);
  Frames message = two.shared({sent});
  Frames packet{frame_of("session"), frame_of("header"), frame_of("body"), message[0]};
  two.a.link->send("b", LinkLane::express, packet);
  two.a.link->send("b", LinkLane::express, packet);
  two.b.sink.wait_messages(2);
  for (const auto& arrived : two.b.sink.messages()) BOOST_TEST(equal(arrived.frames.at(3), sent));
  two.b.sink.forget_messages();
  BOOST_TEST(two.of_b->finished == 1);
  two.a.link->send("b", LinkLane::express,
                   packet);  // after its lease was given back: its session may not have taken it
  two.b.sink.wait_messages(1);
  BOOST_TEST(equal(two.b.sink.messages()[0].frames.at(3), sent));
  packet.clear();
  message.clear();
  Frames none;
  two.a.link->share("b", none);
  BOOST_TEST(use_of(two.a).leases == 1U);
  two.b.sink.forget_messages();
  two.wait_no_leases();
}

BOOST_AUTO_TEST_CASE(a_packet_for_an_earlier_life_of_a_peer_travels_from_the_gpu) {
  TwoWithGpus two;
  const Frame sent = random_frame(kMib, two.random);
  const Frames tensors = two.shared({sent});
  BOOST_TEST((tensors[0].memory == FrameMemory::leased));
  two.b.link->stop();
  until([&] { return use_of(two.a).peers == 0U; });
  SharingNode again("b", 3, two.secret, with_gpus(two.of_b));
  two.a.link->connect(again.link->address());
  again.sink.wait_ups(1);
  two.a.sink.wait_ups(2);
  two.a.link->send("b", LinkLane::bulk, {frame_of("session"), frame_of("header"), frame_of("body"), tensors[0]});
  again.sink.wait_messages(1);
  const Frame arrived = again.sink.messages().front().frames.at(3);
  BOOST_TEST((arrived.memory == FrameMemory::own && arrived.device == Device::cpu()));
  BOOST_TEST(equal(arrived, sent));
}

BOOST_AUTO_TEST_CASE(a_packet_that_comes_after_its_block_has_ended_opens_nothing_and_refuses_no_gpu) {
  const auto host = std::make_shared<FakeHost>();
  TwoByHand two(with_gpus(std::make_shared<FakeGpus>(host, "a")), with_gpus(std::make_shared<FakeGpus>(host, "b")));
  const auto shared = [&] {
    Frames message{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
    two.a.link->share("b", message);
    message.insert(message.begin(), frame_of("session"));
    return message;
  };
  static_cast<void>(shared());  // offers the GPU
  two.settle();
  const Frames packet = two.packet_of(shared());
  two.deliver(packet);
  two.b.sink.last.clear();
  Frames none;
  two.a.link->share("b", none);
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  two.settle();
  BOOST_TEST(host->live == 0);
  two.deliver(packet);
  BOOST_TEST((two.b.sink.last.at(3).memory == FrameMemory::missing));  // the session drops it
  two.settle();
  BOOST_TEST(host->opened == 1);
  BOOST_TEST((shared()[3].memory == FrameMemory::leased));
}

BOOST_AUTO_TEST_CASE(blocks_of_a_lost_life_are_freed_while_its_process_goes_on_and_only_when_it_has_closed_them) {
  const auto host = std::make_shared<FakeHost>();
  TwoByHand two(with_gpus(std::make_shared<FakeGpus>(host, "a")), with_gpus(std::make_shared<FakeGpus>(host, "b")));
  const auto shared = [&] {
    Frames message{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
    two.a.link->share("b", message);
    message.insert(message.begin(), frame_of("session"));
    return message;
  };
  static_cast<void>(shared());  // offers the GPU
  two.settle();
  two.deliver(two.packet_of(shared()));
  static_cast<void>(two.packet_of(shared()));  // which b never reads
  two.a.inner->sink->on_link_down("b", two.life, Error{});
  two.b.inner->sink->on_link_down("a", two.life, Error{});
  const auto release = [&] { two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s); };
  release();
  BOOST_TEST(host->live == 2);
  two.b.sink.last.clear();
  BOOST_TEST(host->open_now == 0);
  release();
  BOOST_TEST(two.a.link->shared_memory()->leases == 0U);
  BOOST_TEST(host->live == 0);
  BOOST_TEST(host->freed_while_open == 0);
}

// Its node says hello again, and b has not noticed that it was gone. What b shares then must be offered again.
BOOST_AUTO_TEST_CASE(a_gpu_is_offered_again_to_a_life_that_begins_anew) {
  const auto host = std::make_shared<FakeHost>();
  TwoByHand two(with_gpus(std::make_shared<FakeGpus>(host, "a")), with_gpus(std::make_shared<FakeGpus>(host, "b")));
  const Frame sent = random_frame(kMib, two.random);
  const auto arrives = [&] {
    Frames message{frame_of("header"), frame_of("body"), on_gpu(sent)};
    two.b.link->share("a", message);  // offers the GPU
    BOOST_TEST((message[2].memory == FrameMemory::own));
    two.settle();
    message[2] = on_gpu(sent);
    two.b.link->share("a", message);
    BOOST_TEST((message[2].memory == FrameMemory::leased));
    message.insert(message.begin(), frame_of("session"));
    two.b.link->send("a", LinkLane::bulk, std::move(message));
    two.settle();
    BOOST_TEST_REQUIRE(two.a.sink.last.size() == 4U);
    BOOST_TEST(equal(two.a.sink.last[3], sent));
    two.a.sink.last.clear();
  };
  arrives();
  two.a.inner->sink->on_link_down("b", two.life, Error{});
  two.a.inner->sink->on_link_up({.name = "b", .incarnation = two.life});
  two.settle();
  arrives();
}

// The link below loses what is on its way when a connection is cut.
BOOST_AUTO_TEST_CASE(a_gpu_is_offered_again_when_its_offer_or_the_answer_was_lost) {
  for (const bool offer_comes : {false, true}) {
    const auto host = std::make_shared<FakeHost>();
    SharedLinkOptions impatient = with_gpus(std::make_shared<FakeGpus>(host, "a"));
    impatient.answer_patience = 0ms;
    TwoByHand two(std::move(impatient), with_gpus(std::make_shared<FakeGpus>(host, "b")));
    const auto is_shared = [&] {
      Frames message{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
      two.a.link->share("b", message);
      return message[2].memory == FrameMemory::leased;
    };
    BOOST_TEST(!is_shared());
    const std::vector<Frames> offer = std::exchange(two.a.inner->sent, {});
    BOOST_TEST(offer.size() == 1U);
    if (offer_comes) two.deliver(offer.at(0));
    BOOST_TEST(std::exchange(two.b.inner->sent, {}).size() == (offer_comes ? 1U : 0U));
    BOOST_TEST(!is_shared());
    BOOST_TEST(two.a.inner->sent.size() == 1U);
    two.settle();
    BOOST_TEST(is_shared());
    BOOST_TEST(two.a.inner->sent.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_gpu_is_not_offered_again_while_the_peer_may_still_answer) {
  const auto host = std::make_shared<FakeHost>();
  SharedLinkOptions patient = with_gpus(std::make_shared<FakeGpus>(host, "a"));
  patient.answer_patience = 1h;
  TwoByHand two(std::move(patient), with_gpus(std::make_shared<FakeGpus>(host, "b")));
  for (int i = 0; i < 3; ++i) {
    Frames message{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
    two.a.link->share("b", message);
    BOOST_TEST(two.a.inner->sent.size() == 1U);
  }
}

/// A block of a that b has open, for nobody: a's room for blocks has no other.
struct IdleBlock {
  explicit IdleBlock(Duration answer_patience) : two(patient(host, answer_patience), with_gpus(of("b"))) {
    static_cast<void>(message());  // offers the GPU
    two.settle();
    two.deliver(two.packet_of(message()));
    two.b.sink.last.clear();
    BOOST_TEST((host->live == 1 && host->open_now == 1));
  }
  static SharedLinkOptions patient(const std::shared_ptr<FakeHost>& host, Duration answer_patience) {
    SharedLinkOptions options = with_gpus(std::make_shared<FakeGpus>(host, "a"), kMib);
    options.answer_patience = answer_patience;
    return options;
  }
  std::shared_ptr<FakeGpus> of(const std::string& process) const { return std::make_shared<FakeGpus>(host, process); }
  Frames message() {
    Frames frames{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
    two.a.link->share("b", frames);
    frames.insert(frames.begin(), frame_of("session"));
    return frames;
  }
  /// Returns what a says of its blocks.
  std::vector<Frames> release() const {
    two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
    return std::exchange(two.a.inner->sent, {});
  }

  const std::shared_ptr<FakeHost> host = std::make_shared<FakeHost>();
  TwoByHand two;
};

BOOST_AUTO_TEST_CASE(a_block_is_freed_though_the_news_of_its_end_or_the_answer_was_lost) {
  for (const bool news_comes : {false, true}) {
    IdleBlock idle(0ms);
    const std::vector<Frames> news = idle.release();
    BOOST_TEST(news.size() == 1U);
    if (news_comes) idle.two.deliver(news.at(0));
    BOOST_TEST(std::exchange(idle.two.b.inner->sent, {}).size() == (news_comes ? 1U : 0U));
    BOOST_TEST(idle.host->live == 1);  // b may have it open
    const std::vector<Frames> again = idle.release();
    BOOST_TEST_REQUIRE(!again.empty());
    for (const Frames& each : again) idle.two.deliver(each);
    idle.two.deliver(again[0]);  // each is answered
    idle.two.settle();
    BOOST_TEST((idle.host->live == 0 && idle.host->open_now == 0));
    BOOST_TEST(idle.host->freed_while_open == 0);
    BOOST_TEST(idle.two.a.link->shared_memory()->gpu_bytes == 0U);
    BOOST_TEST(idle.two.a.link->shared_memory()->refused == 0U);
    BOOST_TEST(idle.release().empty());
    BOOST_TEST((idle.message()[3].memory == FrameMemory::leased));  // there is room again
  }
}

BOOST_AUTO_TEST_CASE(the_end_of_a_block_is_told_once_while_the_peer_may_still_answer) {
  IdleBlock idle(1h);
  BOOST_TEST(idle.release().size() == 1U);
  BOOST_TEST(idle.release().empty());
}

// A GPU may take long to free memory. Meanwhile another thread uses the link.
BOOST_AUTO_TEST_CASE(memory_of_a_gpu_is_freed_without_the_locks_of_the_link) {
  enum class End { of_a_lost_life, of_the_link, of_a_life_that_another_follows };
  for (const End end : {End::of_a_lost_life, End::of_the_link, End::of_a_life_that_another_follows}) {
    const auto host = std::make_shared<FakeHost>();
    std::vector<std::future<void>> others;
    TwoByHand two(with_gpus(std::make_shared<FakeGpus>(host, "a")), with_gpus(std::make_shared<FakeGpus>(host, "b")));
    host->on_free = [&] {
      others.push_back(std::async(std::launch::async, [&] { static_cast<void>(two.a.link->shared_memory()); }));
      BOOST_TEST((others.back().wait_for(10s) == std::future_status::ready));
    };
    const auto release = [&] { two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s); };
    for (int i = 0; i < 2; ++i) {  // the first offers the GPU
      Frames message{frame_of("header"), frame_of("body"), on_gpu(random_frame(kMib, two.random))};
      two.a.link->share("b", message);
      two.settle();
    }
    if (end == End::of_a_lost_life) two.a.inner->sink->on_link_down("b", two.life, Error{});
    release();
    BOOST_TEST(host->live == 1);  // b may have it open
    if (end == End::of_the_link) two.a.link->stop();
    if (end == End::of_a_life_that_another_follows)
      two.a.inner->sink->on_link_up({.name = "b", .incarnation = {.high = 1, .low = 2}});
    if (end == End::of_a_lost_life) two.b.inner->sink->on_link_down("a", two.life, Error{});
    release();
    BOOST_TEST(host->live == 0);
    BOOST_TEST(others.size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(all_memory_of_a_message_returns_from_the_gpu_whatever_allocation_it_is_refused) {
  std::size_t refused = 0;
  for (bool happened = true; happened;) {
    const auto host = std::make_shared<FakeHost>();
    TwoByHand two(with_gpus(std::make_shared<FakeGpus>(host, "a"), 2 * kMib),
                  with_gpus(std::make_shared<FakeGpus>(host, "b")));
    const auto message = [&](std::size_t bytes) {
      return Frames{frame_of("header"), frame_of("body"), on_gpu(random_frame(bytes, two.random))};
    };
    Frames first = message(kMib);
    two.a.link->share("b", first);  // offers the GPU
    two.settle();
    happened = false;
    // A new block; the same again; one for which the idle one has to end.
    for (const std::size_t bytes : {kMib, kMib, 2 * kMib}) {
      Frames frames = message(bytes);
      const RefusedAllocation allocation(refused + 1);
      try {
        two.a.link->share("b", frames);
      } catch (const std::bad_alloc&) {
      }
      happened = allocation.happened() || happened;
    }
    refused += happened;
    two.settle();
    two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
    two.settle();
    BOOST_TEST(two.a.link->shared_memory()->leases == 0U);
    BOOST_TEST(host->live == 0);
    Frames last = message(2 * kMib);
    two.a.link->share("b", last);
    BOOST_TEST((last[2].memory == FrameMemory::leased), "refused: " << refused);
  }
  BOOST_TEST(refused > 5U);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_lie_in_its_block_is_refused) {
  TwoWithGpus two;
  two.of_b->opens_halves = true;
  two.a.send("b", {on_gpu(random_frame(kMib, two.random))});
  static_cast<void>(two.pass({}));  // what came before it is lost
  BOOST_TEST(use_of(two.b).refused == 1U);
  BOOST_TEST(two.of_b->finished == 1);
  two.wait_no_leases();
}

BOOST_AUTO_TEST_CASE(impossible_messages_about_gpus_are_refused) {
  Hostile hostile;
  SharedEntry entry{.frame = 3, .memory = SharedEntry::Memory::gpu, .segment = 1, .lease = {}, .bytes = 64};
  hostile.say(detail::encode(std::vector{entry}));  // of a GPU that nobody offered
  const auto say_control = [&](SharedControl::Kind kind, std::uint32_t number, std::string text) {
    hostile.link->send("b", LinkLane::express,
                       {detail::encode(SharedControl{.kind = kind, .number = number, .inbox = std::move(text)})});
  };
  say_control(SharedControl::Kind::gpu_ready, 0, "");             // without an offer
  say_control(SharedControl::Kind::gpu_refused, 4'000'000, "");   // without one, too
  say_control(SharedControl::Kind::gpu_closed, 7, "");            // no block: as an answer that comes twice, nothing
  say_control(SharedControl::Kind::gpu_offered, 4'000'000, "x");  // no machine has so many
  say_control(SharedControl::Kind::gpu_offered, 0, "");           // no GPU has that name: nothing comes of it
  say_control(SharedControl::Kind::gpu_ended, 9, "");             // not open here: it is closed
  hostile.check_refused(4);
}

BOOST_AUTO_TEST_CASE(entries_of_gpu_blocks_survive_the_wire_and_cut_ones_do_not) {
  SharedEntry entry{.frame = 3,
                    .memory = SharedEntry::Memory::gpu,
                    .segment = 8,
                    .lease = {.slot = 5, .generation = 77},
                    .offset = 64,
                    .bytes = 128,
                    .gpu = 2};
  for (std::size_t i = 0; i < entry.handle.size(); ++i) entry.handle[i] = static_cast<std::byte>(i);
  const SharedEntry other{.frame = 4, .memory = SharedEntry::Memory::senders, .segment = 1, .lease = {}, .bytes = 1};
  const Frame whole = detail::encode({entry, other});
  const auto decoded = detail::decode_shared_table(whole);
  BOOST_TEST_REQUIRE(decoded.has_value());
  BOOST_TEST((*decoded == std::vector<SharedEntry>{entry, other}));
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    if (size == 8 + 40 + 72) continue;  // the first entry alone
    BOOST_TEST(!detail::decode_shared_table({whole.bytes.first(size), whole.owner}).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
