#include "actors/sessions/packed_message.h"

#include <new>
#include <utility>

#include "actors/core/request.h"
#include "messages/codec.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace troupe::detail {

namespace {

/// Copies a frame of a GPU to the CPU.
Frame on_cpu(const Frame& frame) {
  Storage copy = Storage::allocate(frame.bytes.size());
  copy_bytes(copy.mutable_data(), Device::cpu(), frame.bytes.data(), frame.device, frame.bytes.size());
  const FrozenBytes bytes = copy.freeze();
  return {.bytes = bytes.bytes(), .owner = bytes.owner()};
}

/// Copies the frames of GPUs that cannot travel to the CPU: those that are not leased, and all if the message is cut.
void stage(Frames& frames, const Packing& packing) {
  const bool cut = size_of(frames) > packing.whole_bytes_max;
  for (Frame& frame : frames) {
    if (frame.device != Device::cpu() && (cut || frame.memory != FrameMemory::leased)) frame = on_cpu(frame);
  }
}

template <class Share>
Result<Parcel> encode_and_pack(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing,
                               const Share& share) {
  try {
    auto frames = msg::encode(envelope, message);
    if (!frames) return frames.error();
    const std::optional<Incarnation> life = share(frames.value());
    Parcel parcel = pack(std::move(frames).value(), packing);
    if (parcel.pieces.size() == 1) parcel.shared_with = life;  // else the leased frames travel, too
    return parcel;
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::resource_exhausted, .message = "the node had no memory to send it"};
  } catch (const DeviceMemoryError& error) {
    return Error{.code = ErrorCode::device_out_of_memory, .message = error.what()};
  } catch (const DeviceError& error) {
    return Error{.code = ErrorCode::resource_exhausted, .message = error.what()};
  }
}

}  // namespace

Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing) {
  return encode_and_pack(envelope, message, packing, [&](Frames& frames) {
    stage(frames, packing);
    return std::nullopt;
  });
}

Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing,
                            const NodeName& to, Link& link) {
  return encode_and_pack(envelope, message, packing, [&](Frames& frames) -> std::optional<Incarnation> {
    if (link.shares_memory()) return std::nullopt;
    std::optional<Incarnation> life;
    if (size_of(frames) > packing.whole_bytes_max) life = link.share(to, frames);
    stage(frames, packing);
    return life;
  });
}

namespace {

bool is_on_value(const msg::AnyMessage& message) {
  return message.holds<msg::ValueCall>() || message.holds<msg::RRefFetch>();
}

}  // namespace

bool needs_grant(const msg::AnyMessage& message, std::string_view actor) {
  const bool is_call = message.holds<msg::Call>() && !is_for_collectives(actor);
  return is_call || is_on_value(message) || message.holds<msg::RemoteCall>();
}

Posting posting_of(const msg::AnyMessage& message, const std::string& actor, bool nested) {
  Posting posting;
  if (needs_grant(message, actor)) posting.of = nested ? Posting::Class::nested_call : Posting::Class::call;
  if (is_on_value(message) || message.holds<msg::BarrierEntered>()) posting.order_key = actor;
  return posting;
}

}  // namespace troupe::detail
