#include "actors/sessions/packed_message.h"

#include <new>
#include <utility>

#include "actors/core/request.h"
#include "messages/codec.h"

namespace troupe::detail {

namespace {

template <class Share>
Result<Parcel> encode_and_pack(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing,
                               const Share& share) {
  try {
    auto frames = msg::encode(envelope, message);
    if (!frames) return frames.error();
    share(frames.value());
    return pack(std::move(frames).value(), packing);
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::resource_exhausted, .message = "the node had no memory to send it"};
  }
}

}  // namespace

Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing) {
  return encode_and_pack(envelope, message, packing, [](Frames&) {});
}

Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing,
                            const NodeName& to, Link& link) {
  return encode_and_pack(envelope, message, packing, [&](Frames& frames) {
    if (size_of(frames) > packing.whole_bytes_max) link.share(to, frames);
  });
}

Posting posting_of(const msg::AnyMessage& message, const std::string& actor, bool nested) {
  const bool on_value = message.holds<msg::ValueCall>() || message.holds<msg::RRefFetch>();
  const bool is_call = message.holds<msg::Call>() && !is_for_collectives(actor);
  Posting posting;
  if (on_value || is_call || message.holds<msg::RemoteCall>()) {
    posting.of = nested ? Posting::Class::nested_call : Posting::Class::call;
  }
  if (on_value || message.holds<msg::BarrierEntered>()) posting.order_key = actor;
  return posting;
}

}  // namespace troupe::detail
