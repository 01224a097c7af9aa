#include "messages/tensor_wire.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "messages/values.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/messages/message_samples.h"
#include "tests/support/expect_throw.h"
#include "tests/support/gpu.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(tensor_wire)

namespace {

struct Batch {
  std::string name;
  Tensor inputs;
  std::map<std::string, std::vector<Tensor>> extra;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, inputs, extra);
  }
};

Tensor counted(std::int64_t count) { return arange(count, DType::i64); }

/// Encodes and decodes `tensors`. Stores the sizes of the frames in `frame_sizes`.
std::vector<Tensor> through(const std::vector<Tensor>& tensors, std::vector<std::size_t>& frame_sizes) {
  const msg::Payload payload = to_payload(nullptr, tensors);
  frame_sizes.clear();
  for (const Frame& frame : payload.tensors) frame_sizes.push_back(frame.bytes.size());
  return std::get<0>(from_payload<std::vector<Tensor>>(payload));
}

void check_refused(const msg::Payload& payload, std::string_view text) {
  BOOST_CHECK_EXCEPTION(std::ignore = from_payload<Tensor>(payload), DecodeError, [&](const DecodeError& e) {
    BOOST_TEST(e.what() == text);
    return e.what() == text;
  });
}

/// Overwrites a number in the body of `payload`.
template <class T>
msg::Payload with(msg::Payload payload, std::size_t position, T value) {
  std::vector<std::byte> bytes(payload.bytes.bytes.begin(), payload.bytes.bytes.end());
  std::memcpy(bytes.data() + position, &value, sizeof value);
  payload.bytes = make_frame(std::move(bytes));
  return payload;
}

using Sizes = std::vector<std::size_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_of_every_dtype_and_shape_survive, *boost::unit_test::label("R-32")) {
  Sizes sizes;
  for (std::uint8_t number = 1; is_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    const Tensor sent = ones({2, 3}, dtype);
    const std::vector<Tensor> received = through({sent}, sizes);
    BOOST_TEST(same_bytes(received[0], sent));
    BOOST_TEST((sizes == Sizes{6 * size_of(dtype)}));
  }
  const std::vector<Tensor> odd{scalar(2.5), Tensor(), empty({0, 3}),
                                ones(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2})};
  const std::vector<Tensor> received = through(odd, sizes);
  for (std::size_t i = 0; i < odd.size(); ++i) BOOST_TEST(same_bytes(received[i], odd[i]));
  BOOST_TEST((sizes == Sizes{8, 8}));
}

BOOST_AUTO_TEST_CASE(tensors_anywhere_inside_user_types_travel) {
  const Batch batch{"train", counted(3), {{"mask", {counted(2), counted(1)}}, {"none", {}}}};
  const msg::Payload payload = to_payload(nullptr, batch, counted(5));
  BOOST_TEST(payload.tensors.size() == 4U);
  const auto [received, last] = from_payload<Batch, Tensor>(payload);
  BOOST_TEST(received.name == "train");
  BOOST_TEST(same_bytes(received.inputs, counted(3)));
  BOOST_TEST(same_bytes(received.extra.at("mask").at(0), counted(2)));
  BOOST_TEST(same_bytes(last, counted(5)));
}

BOOST_AUTO_TEST_CASE(a_storage_is_sent_without_a_copy_and_a_write_meanwhile_is_not_seen,
                     *boost::unit_test::label("R-36")) {
  Tensor tensor = counted(4);
  const msg::Payload payload = to_payload(nullptr, tensor);
  BOOST_TEST(payload.tensors.at(0).bytes.data() == tensor.bytes());
  BOOST_TEST(tensor.storage().frozen());

  tensor.mutable_data<std::int64_t>()[0] = 99;
  BOOST_TEST(payload.tensors.at(0).bytes.data() != tensor.bytes());
  const auto [received] = from_payload<Tensor>(payload);
  BOOST_TEST(same_bytes(received, counted(4)));
  BOOST_TEST(tensor.data<std::int64_t>()[0] == 99);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_handed_on_unchanged_keeps_the_owner_of_its_bytes) {
  const auto handed_on = [](const Tensor& x) { return std::get<0>(from_payload<Tensor>(to_payload(nullptr, x))); };
  const Tensor sent = counted(10'000);
  Tensor received = handed_on(handed_on(sent));
  const std::shared_ptr<const void> owner = received.freeze().owner();
  for (int hop = 0; hop < 3; ++hop) {
    received = handed_on(received);
    BOOST_TEST(received.bytes() == sent.bytes());
    BOOST_TEST(received.freeze().owner() == owner);
  }
}

BOOST_AUTO_TEST_CASE(a_storage_is_free_again_when_its_frame_is_gone) {
  const Tensor tensor = counted(4);
  {
    const msg::Payload payload = to_payload(nullptr, tensor);
    BOOST_TEST(tensor.storage().frozen());
  }
  BOOST_TEST(!tensor.storage().frozen());
}

BOOST_AUTO_TEST_CASE(received_tensors_are_aligned_and_their_own_wherever_the_frame_lies) {
  const msg::Payload sent = to_payload(nullptr, counted(100));
  std::vector<std::byte> shifted(801);
  std::memcpy(shifted.data() + 1, sent.tensors[0].bytes.data(), 800);
  msg::Payload arrived = sent;
  arrived.tensors[0] = {std::span<const std::byte>(shifted).subspan(1), nullptr};
  const auto [received] = from_payload<Tensor>(arrived);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(received.bytes()) % 64 == 0U);
  BOOST_TEST(same_bytes(received, counted(100)));
}

BOOST_AUTO_TEST_CASE(views_of_one_storage_share_a_frame_and_arrive_as_views_of_one_storage) {
  const Tensor matrix = counted(12).view({3, 4});
  Sizes sizes;
  std::vector<Tensor> received = through({matrix, matrix.transpose(), matrix.select(0, 1), matrix}, sizes);
  BOOST_TEST((sizes == Sizes{96}));
  BOOST_TEST(same_bytes(received[1], matrix.transpose()));
  BOOST_TEST(same_bytes(received[2], matrix.select(0, 1)));
  received[0].mutable_data<std::int64_t>()[4] = -1;  // row 1, column 0
  BOOST_TEST(received[2].data<std::int64_t>()[0] == -1);
  BOOST_TEST(received[3].data<std::int64_t>()[4] == -1);
}

BOOST_AUTO_TEST_CASE(only_the_bytes_that_views_use_travel, *boost::unit_test::label("R-33")) {
  const Tensor numbers = counted(1000);
  Sizes sizes;
  const Tensor part = numbers.slice(0, 10, 20);
  const std::vector<Tensor> received = through({part}, sizes);
  BOOST_TEST((sizes == Sizes{80}));
  BOOST_TEST(same_bytes(received[0], part));
  std::ignore = through({numbers.slice(0, 10, 20), numbers.slice(0, 15, 30)}, sizes);
  BOOST_TEST((sizes == Sizes{160}));
}

BOOST_AUTO_TEST_CASE(a_repeated_element_travels_once) {
  const Tensor wide = scalar(std::int64_t{7}).expand({1000, 1000});
  Sizes sizes;
  const std::vector<Tensor> received = through({wide}, sizes);
  BOOST_TEST((sizes == Sizes{8}));
  BOOST_TEST((received[0].shape() == Shape{1000, 1000}));
  BOOST_TEST(received[0].select(0, 999).select(0, 999).item<std::int64_t>() == 7);
}

BOOST_AUTO_TEST_CASE(a_column_is_compacted_where_8_KiB_or_more_would_travel_for_it, *boost::unit_test::label("R-36")) {
  Sizes sizes;
  const Tensor small = counted(1000).view({100, 10}).select(1, 3);  // 99 * 80 + 8 = 7928 bytes apart
  BOOST_TEST(same_bytes(through({small}, sizes)[0], small));
  BOOST_TEST((sizes == Sizes{7928}));
  const Tensor large = counted(2000).view({200, 10}).select(1, 3);
  const std::vector<Tensor> received = through({large, large}, sizes);
  BOOST_TEST((sizes == Sizes{1600}));
  BOOST_TEST(same_bytes(received[1], large));
  BOOST_TEST(received[0].storage().same_as(received[1].storage()));
}

BOOST_AUTO_TEST_CASE(rows_far_apart_travel_without_what_lies_between) {
  const Tensor table = counted(100'000).view({1000, 100});
  Sizes sizes;
  const std::vector<Tensor> received = through(
      {table.select(0, 900), table.select(0, 1), table.select(0, 2), table.select(0, 901).slice(0, 0, 5)}, sizes);
  // Rows 1 and 2 are adjacent, and so are row 900 and the beginning of 901. Frames are in the order of their bytes.
  BOOST_TEST((sizes == Sizes{1600, 840}));
  BOOST_TEST(same_bytes(received[0], table.select(0, 900)));
  BOOST_TEST(same_bytes(received[1], table.select(0, 1)));
  BOOST_TEST(same_bytes(received[2], table.select(0, 2)));
  BOOST_TEST(same_bytes(received[3], table.select(0, 901).slice(0, 0, 5)));
}

/// `payload` with its tensors in memory of another process, which owner and test can still change.
msg::Payload in_foreign_memory(msg::Payload payload, std::vector<std::shared_ptr<std::vector<std::byte>>>& memory) {
  for (Frame& frame : payload.tensors) {
    // Aligned as a block is.
    auto bytes = std::make_shared<std::vector<std::byte>>(frame.bytes.size() + 64);
    std::size_t room = bytes->size();
    void* begin = bytes->data();
    std::align(64, frame.bytes.size(), begin, room);
    std::memcpy(begin, frame.bytes.data(), frame.bytes.size());
    memory.push_back(bytes);
    frame = {{static_cast<std::byte*>(begin), frame.bytes.size()}, bytes, FrameMemory::foreign};
  }
  return payload;
}

BOOST_AUTO_TEST_CASE(of_foreign_memory_floats_are_read_in_place_what_is_checked_is_copied_first) {
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory;
  const std::vector<Tensor> sent{ones({100'000}), counted(100'000), ones({100'000}, DType::boolean)};
  const msg::Payload payload = in_foreign_memory(to_payload(nullptr, sent), memory);
  const auto received = std::get<0>(from_payload<std::vector<Tensor>>(payload));
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(same_bytes(received[i], sent[i]));
  for (const auto& bytes : memory) std::ranges::fill(*bytes, std::byte{0xff});
  BOOST_TEST(!same_bytes(received[0], sent[0]));
  BOOST_TEST(same_bytes(received[1], sent[1]));
  BOOST_TEST(same_bytes(received[2], sent[2]));
}

BOOST_AUTO_TEST_CASE(a_float_tensor_in_foreign_memory_is_never_written) {
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory;
  const msg::Payload payload = in_foreign_memory(to_payload(nullptr, ones({100'000})), memory);
  const std::vector<std::byte> before = *memory[0];
  Tensor received = std::get<0>(from_payload<Tensor>(payload));
  received.fill(2.0);
  BOOST_TEST((*memory[0] == before));
}

// No memory of that size is there on either side: it is never read.
BOOST_AUTO_TEST_CASE(a_tensor_for_which_a_gpu_has_no_memory_is_no_malformed_one,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::label("fault-F20") *
                         boost::unit_test::precondition(testing::NeedsGpus{1})) {
  constexpr std::size_t kTooLarge = std::size_t{1} << 50U;
  msg::Payload payload = with(to_payload(nullptr, ones({4})), 6, std::uint16_t{1});
  payload.tensors[0].bytes = {payload.tensors[0].bytes.data(), kTooLarge};
  const std::string text = "[allocate] 1125899906842624 bytes on cuda:0: out of memory";
  testing::expect_throw<DeviceMemoryError>([&] { std::ignore = from_payload<Tensor>(payload); }, text);
}

// Descriptor of counted(4) at position 0: frame u32, dtype u8, dims u8, device u16, offset u64, numel u64, extent u64,
// size i64, stride i64.
BOOST_AUTO_TEST_CASE(descriptors_that_do_not_fit_their_frame_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S7")) {
  const msg::Payload good = to_payload(nullptr, counted(4));
  BOOST_TEST(good.bytes.bytes.size() == 48U);
  check_refused(with(good, 0, std::uint32_t{1}), "[decode] tensor in frame 1: there are 1");
  check_refused(with(good, 4, std::uint8_t{0}), "[decode] undefined tensor with content");
  check_refused(with(good, 4, std::uint8_t{11}), "[decode] no dtype has the number 11");
  check_refused(with(good, 5, std::uint8_t{17}), "[decode] tensor of 17 dimensions");
  check_refused(with(good, 6, std::uint16_t{0xFFFF}), "[decode] no device has the number 65535");
  check_refused(with(good, 8, std::uint64_t{8}), "[decode] tensor of 32 bytes at 8 in a frame of 32");
  check_refused(with(good, 8, std::uint64_t{18446744073709551608U}),
                "[decode] tensor of 32 bytes at 18446744073709551608 in a frame of 32");
  check_refused(with(good, 16, std::uint64_t{5}),
                "[decode] tensor (4) strides (1) does not have 5 elements in 32 bytes");
  check_refused(with(good, 24, std::uint64_t{31}),
                "[decode] tensor (4) strides (1) does not have 4 elements in 31 bytes");
  check_refused(with(good, 32, std::int64_t{-4}), "[decode] tensor with a negative size or stride: (-4) strides (1)");
  check_refused(with(good, 32, std::uint64_t{1} << 63U),
                "[decode] tensor with a negative size or stride: (-9223372036854775808) strides (1)");
  check_refused(with(good, 40, std::uint64_t{1} << 63U),
                "[decode] tensor with a negative size or stride: (4) strides (-9223372036854775808)");
  check_refused(with(good, 8, std::uint64_t{1} << 63U),
                "[decode] tensor of 32 bytes at 9223372036854775808 in a frame of 32");
  check_refused(with(good, 5, std::uint8_t{255}), "[decode] tensor of 255 dimensions");
  check_refused(with(good, 40, std::int64_t{-1}), "[decode] tensor with a negative size or stride: (4) strides (-1)");
  check_refused(with(good, 40, std::int64_t{1} << 62U), "[decode] tensor too large: (4) strides (4611686018427387904)");
}

BOOST_AUTO_TEST_CASE(a_product_of_sizes_beyond_64_bits_is_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S7")) {
  msg::Payload payload = to_payload(nullptr, counted(4).view({2, 2}));
  payload = with(payload, 32, std::int64_t{1} << 40U);
  payload = with(payload, 40, std::int64_t{1} << 40U);
  check_refused(payload, "[decode] tensor too large: (1099511627776, 1099511627776)");
}

// The sizes and then the strides of a two-dimensional tensor begin at 32.
BOOST_AUTO_TEST_CASE(a_tensor_whose_dense_copy_no_machine_could_hold_is_refused_whatever_its_strides,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S7")) {
  const auto two_dims = [](std::int64_t rows, std::int64_t columns, std::uint64_t numel, std::uint64_t extent) {
    msg::Payload payload = to_payload(nullptr, counted(4).view({2, 2}));
    payload = with(payload, 32, rows);
    payload = with(payload, 40, columns);
    payload = with(payload, 48, std::int64_t{0});  // each element is the first one
    payload = with(payload, 56, std::int64_t{0});
    payload = with(payload, 16, numel);
    return with(payload, 24, extent);
  };
  const std::int64_t huge = std::int64_t{1} << 62U;
  // 3 * 2^62 elements fit into unsigned 64 bits. 2^62 fit into signed 64 bits, but their bytes do not.
  check_refused(two_dims(huge, 3, 3 * (std::uint64_t{1} << 62U), 8),
                "[decode] tensor too large: (4611686018427387904, 3)");
  check_refused(two_dims(huge, 1, std::uint64_t{1} << 62U, 8), "[decode] tensor too large: (4611686018427387904, 1)");
  check_refused(two_dims(0, huge, 0, 0), "[decode] tensor too large: (0, 4611686018427387904)");
}

BOOST_AUTO_TEST_CASE(shapes_that_no_tensor_has_are_refused) {
  const auto refused = [](const std::vector<std::int64_t>& sizes, std::string_view text) {
    BOOST_CHECK_EXCEPTION(std::ignore = from_payload<Shape>(to_payload(nullptr, sizes)), DecodeError,
                          [&](const DecodeError& e) { return e.what() == text; });
  };
  refused(std::vector<std::int64_t>(17, 1), "[decode] a shape of 17 dimensions, of 16 at most, or with a negative one");
  refused({2, -1}, "[decode] a shape of 2 dimensions, of 16 at most, or with a negative one");
}

// A few bytes of indices that claim 2^40 columns: every use would allocate memory for all.
BOOST_AUTO_TEST_CASE(a_sparse_tensor_of_more_entries_than_came_is_refused) {
  const Tensor repeated = scalar(std::int64_t{0}).expand({1, std::int64_t{1} << 40U});
  const Tensor values = scalar(1.0F).expand({std::int64_t{1} << 40U});
  const msg::Payload payload = to_payload(nullptr, true, repeated, values, std::vector<std::int64_t>{4}, false);
  BOOST_CHECK_EXCEPTION(std::ignore = from_payload<SparseTensor>(payload), DecodeError, [](const DecodeError& e) {
    return std::string_view(e.what()) == "[decode] a sparse tensor in parts that are not dense";
  });
}

// A kernel of the GPU would read the indices at addresses of the CPU.
BOOST_AUTO_TEST_CASE(a_sparse_tensor_on_two_devices_is_refused) {
  constexpr std::int64_t kCount = 16384;  // 64 KiB of values: they are not copied to the GPU, which may be absent
  msg::Payload payload = to_payload(nullptr, SparseTensor(counted(kCount).view({1, kCount}), ones({kCount}), {kCount}));
  payload.tensors.at(1).device = Device::cuda();
  // One byte before the descriptor of the indices, of 32 bytes and 4 numbers; then 6 bytes of that of the values.
  payload = with(payload, 1 + 32 + 4 * 8 + 6, detail::wire_number(Device::cuda()));
  testing::expect_throw<DecodeError>([&] { std::ignore = from_payload<SparseTensor>(payload); },
                                     "[decode] [SparseTensor] devices differ: cpu and cuda:0");
}

// Each one's indices are read to be checked.
BOOST_AUTO_TEST_CASE(sparse_tensors_that_share_their_bytes_too_often_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  // 80,000 bytes of indices and 40,000 of values: 16 MiB and 256 * 120,000 bytes are the indices of 593.
  const SparseTensor one(counted(10'000).view({1, 10'000}), ones({10'000}), {10'000});
  const auto through_wire = [&one](std::size_t count) {
    const msg::Payload payload = to_payload(nullptr, std::vector<SparseTensor>(count, one));
    BOOST_TEST(payload.tensors.size() == 2U);
    return std::get<0>(from_payload<std::vector<SparseTensor>>(payload)).size();
  };
  BOOST_TEST(through_wire(593) == 593U);
  BOOST_CHECK_EXCEPTION(std::ignore = through_wire(594), DecodeError, [](const DecodeError& e) {
    return std::string_view(e.what()) == "[decode] sparse tensors share their indices too often";
  });
}

BOOST_AUTO_TEST_CASE(an_offset_that_would_misalign_elements_is_refused) {
  const Tensor numbers = counted(4);
  msg::Payload payload = to_payload(nullptr, numbers.slice(0, 0, 3));
  payload.tensors[0] = {{numbers.bytes(), 32}, nullptr};
  check_refused(with(payload, 8, std::uint64_t{4}), "[decode] tensor of 24 bytes at 4 in a frame of 32");
}

BOOST_AUTO_TEST_CASE(a_boolean_tensor_of_other_bytes_is_refused) {
  msg::Payload payload = to_payload(nullptr, from_values<std::uint8_t>({0, 1, 2}));
  check_refused(with(payload, 4, static_cast<std::uint8_t>(DType::boolean)), "[decode] not a boolean: 2");
}

/// Encodes u8 tensors and makes booleans of those whose numbers are in `booleans`. A descriptor of one dimension has 48
/// bytes.
msg::Payload with_booleans(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& booleans) {
  msg::Payload payload = to_payload(nullptr, tensors);
  for (const std::size_t i : booleans) payload = with(payload, 8 + 48 * i + 4, static_cast<std::uint8_t>(1));
  return payload;
}

void check_no_boolean(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& booleans) {
  BOOST_CHECK_EXCEPTION(std::ignore = from_payload<std::vector<Tensor>>(with_booleans(tensors, booleans)), DecodeError,
                        [](const DecodeError& e) { return std::string_view(e.what()) == "[decode] not a boolean: 2"; });
}

BOOST_AUTO_TEST_CASE(what_only_a_later_boolean_tensor_has_of_a_frame_is_checked,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S7")) {
  const Tensor bytes = from_values<std::uint8_t>({0, 1, 0, 1, 2, 1, 0, 1, 0, 1});
  const auto part = [&bytes](std::int64_t begin, std::int64_t end) { return bytes.slice(0, begin, end); };
  const std::vector<Tensor> fine{part(0, 3), part(5, 7), part(1, 4), part(6, 10), part(0, 4), part(3, 5)};
  std::ignore = from_payload<std::vector<Tensor>>(with_booleans(fine, {0, 1, 2, 3, 4}));
  check_no_boolean(fine, {0, 1, 2, 3, 4, 5});          // the byte 4 follows on what was checked
  check_no_boolean({part(0, 4), part(0, 5)}, {0, 1});  // of the second tensor of the frame
  check_no_boolean({part(0, 4), part(2, 8)}, {1});     // which the first one is not
  check_no_boolean({part(0, 10), part(0, 2), part(6, 9), part(8, 10), part(1, 7)}, {1, 2, 3, 4});  // between two
  check_no_boolean({part(0, 10), part(6, 9), part(4, 6)}, {1, 2});                                 // before one
}

BOOST_AUTO_TEST_CASE(ranges_of_a_frame_do_not_count_for_another_one) {
  const Tensor good = zeros({4}, DType::u8);
  const Tensor bad = from_values<std::uint8_t>({2, 0, 0, 0});
  check_no_boolean({good, good, good, bad, bad.slice(0, 1, 4), bad}, {0, 1, 2, 4, 5});
  check_no_boolean({bad, bad.slice(0, 1, 4), bad, good, good, good}, {1, 2, 3, 4, 5});
}

BOOST_AUTO_TEST_CASE(booleans_of_a_frame_are_read_twice_at_most_however_many_tensors_share_it,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  constexpr std::size_t kBytes = 1'000'000;
  const auto bytes_read = [](const std::vector<Tensor>& tensors) {
    const msg::Payload payload = to_payload(nullptr, tensors);
    InArchive ar(payload, nullptr);
    std::vector<Tensor> received;
    ar(received);
    ar.finish();
    BOOST_TEST(received.size() == tensors.size());
    return ar.tensors().booleans_read();
  };
  const Tensor large = zeros({kBytes}, DType::boolean);
  BOOST_TEST(bytes_read({large}) == kBytes);
  BOOST_TEST(bytes_read(std::vector<Tensor>(20'000, large)) == 2 * kBytes);
  // Each a little longer than the one before, and then scattered ones that overlap.
  std::vector<Tensor> parts;
  for (std::int64_t i = 1; i <= 10'000; ++i) parts.push_back(large.slice(0, 0, i * 100));
  BOOST_TEST(bytes_read(parts) == kBytes + 100);  // the first one twice
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const std::int64_t begin = i * 7'919 % 10'000 * 100;
    parts.push_back(large.slice(0, begin, std::min<std::int64_t>(begin + 150, kBytes)));
  }
  std::ranges::reverse(parts);
  BOOST_TEST(bytes_read(parts) <= 2 * kBytes);
}

BOOST_AUTO_TEST_CASE(a_frame_that_no_tensor_uses_is_refused) {
  msg::Payload payload = to_payload(nullptr, counted(4));
  payload.tensors.push_back(payload.tensors[0]);
  check_refused(payload, "[decode] 1 frames that no tensor uses");
}

BOOST_AUTO_TEST_CASE(bytes_of_a_bf16_tensor_are_those_of_the_book) {
  const msg::Payload payload = to_payload(nullptr, from_values<BFloat16>({BFloat16(1.0), BFloat16(-2.5)}));
  BOOST_TEST((std::vector(payload.bytes.bytes.begin(), payload.bytes.bytes.end()) ==
              testing::from_hex("00 00 00 00  0a  01  00 00"   // in frame 0, bf16, 1 dimension
                                "00 00 00 00 00 00 00 00"      // begins at byte 0
                                "02 00 00 00 00 00 00 00"      // 2 elements
                                "04 00 00 00 00 00 00 00"      // in 4 bytes
                                "02 00 00 00 00 00 00 00"      // size 2
                                "01 00 00 00 00 00 00 00")));  // stride 1
  BOOST_TEST_REQUIRE(payload.tensors.size() == 1U);
  const std::span<const std::byte> frame = payload.tensors[0].bytes;
  BOOST_TEST((std::vector<std::byte>(frame.begin(), frame.end()) == testing::from_hex("80 3f  20 c0")));
}

BOOST_AUTO_TEST_CASE(large_frame_that_is_aligned_becomes_the_tensors_storage_and_is_never_written) {
  const Tensor sent = counted(64 << 10);  // 256 KiB
  const msg::Payload payload = to_payload(nullptr, sent);
  auto [received] = from_payload<Tensor>(payload);
  BOOST_TEST(received.bytes() == payload.tensors.at(0).bytes.data());
  received.fill(7);
  BOOST_TEST(received.bytes() != payload.tensors.at(0).bytes.data());
  BOOST_TEST(same_bytes(sent, counted(64 << 10)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
