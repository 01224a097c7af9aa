#include "actors/sessions/packed_message.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/all.h"
#include "messages/frame.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(packed_message)

constexpr Incarnation kLife{.high = 0xB, .low = 2};

/// Leases the first tensors of a message to one life of every peer.
class LeasingLink final : public Link {
 public:
  explicit LeasingLink(std::size_t tensors) : tensors_(tensors) {}

  std::optional<Incarnation> share(const NodeName& /*to*/, Frames& frames) override {
    for (std::size_t i = 2; i < 2 + tensors_; ++i) frames.at(i).memory = FrameMemory::leased;
    return kLife;
  }
  void start(LinkSink& /*sink*/) override {}
  [[nodiscard]] std::string address() const override { return {}; }
  void connect(std::string_view /*address*/) override {}
  void send(const NodeName& /*to*/, LinkLane /*lane*/, Frames /*packet*/) override {}
  void disconnect(const NodeName& /*peer*/, const Farewell& /*farewell*/) override {}
  void stop() override {}

 private:
  const std::size_t tensors_;
};

msg::Call two_tensors() {
  msg::Call call;
  call.function_name = "project";
  for (int i = 0; i < 2; ++i) call.arguments.tensors.push_back(make_frame(std::vector<std::byte>(1 << 20)));
  return call;
}

Parcel pack_two_tensors(LeasingLink link) {
  return pack_message({"a", "b/worker", RequestId{1}, {}}, two_tensors(), {}, "b", link).value();
}

BOOST_AUTO_TEST_CASE(a_parcel_names_the_life_that_its_tensors_are_leased_to) {
  const Parcel parcel = pack_two_tensors(LeasingLink(2));
  BOOST_TEST(parcel.is_small());
  BOOST_TEST((parcel.shared_with == kLife));
}

BOOST_AUTO_TEST_CASE(a_parcel_whose_tensors_all_travel_is_for_any_life) {
  const Parcel parcel = pack_two_tensors(LeasingLink(1));  // the other tensor is too large: the message is cut
  BOOST_TEST(parcel.pieces.size() > 1U);
  BOOST_TEST(!parcel.shared_with.has_value());
}

/// Finds no memory on a GPU for what it would share.
class FullLink final : public Link {
 public:
  std::optional<Incarnation> share(const NodeName& /*to*/, Frames& /*frames*/) override {
    throw DeviceMemoryError("[allocate] 4096 bytes on cuda:0: out of memory");
  }
  void start(LinkSink& /*sink*/) override {}
  [[nodiscard]] std::string address() const override { return {}; }
  void connect(std::string_view /*address*/) override {}
  void send(const NodeName& /*to*/, LinkLane /*lane*/, Frames /*packet*/) override {}
  void disconnect(const NodeName& /*peer*/, const Farewell& /*farewell*/) override {}
  void stop() override {}
};

BOOST_AUTO_TEST_CASE(a_message_for_which_a_device_has_no_memory_is_not_packed, *boost::unit_test::label("fault-F20")) {
  FullLink link;
  const auto parcel = pack_message({"a", "b/worker", RequestId{1}, {}}, two_tensors(), {}, "b", link);
  BOOST_TEST_REQUIRE(!parcel.ok());
  BOOST_TEST((parcel.error().code == ErrorCode::device_out_of_memory));
  BOOST_TEST(parcel.error().message == "[allocate] 4096 bytes on cuda:0: out of memory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
