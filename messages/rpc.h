// The messages between a caller and a worker: calls of functions on another node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/call_options.h"
#include "messages/device_map.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/message_info.h"
#include "messages/payload.h"

namespace troupe::msg {

/// The line of the user's program that made a call, and how the call is served; inherited by nested calls.
struct CallSite {
  std::optional<ContextId> context;  ///< autograd context the call belongs to
  std::vector<std::uint32_t> path;   ///< the caller's path, then this call's index in it; orders gradient sums
  std::uint64_t trace = 0;           ///< links the log lines of one user operation across nodes; 0: not traced
  Priority priority = Priority::normal;
  std::optional<DeviceMap> answer_devices;  ///< callee's devices to the caller's, for the answer; not inherited
  friend bool operator==(const CallSite&, const CallSite&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, path, trace, priority, answer_devices);
  }
};

/// Run a function. Request, caller -> worker; answered by Reply. Not idempotent: the session filters duplicates, so the
/// function starts at most once.
struct Call {
  static constexpr MessageInfo kInfo{0x0101, "Call", Kind::request, Sender::member};
  FunctionKey function;
  std::string function_name;  ///< for error texts and logs only
  Fingerprint fingerprint;    ///< of the wire types the caller encoded; compared before `arguments` is decoded
  Payload arguments;
  CallSite site;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(function, function_name, fingerprint, arguments, site);
  }
};

/// Run a function and keep its value on the callee, which becomes the owner of `rref`. Request, caller -> worker;
/// answered by RRefCreated as soon as the owner actor exists, before the function ends. Not idempotent, as Call.
struct RemoteCall {
  static constexpr MessageInfo kInfo{0x0102, "RemoteCall", Kind::request, Sender::maker};
  FunctionKey function;
  std::string function_name;
  Fingerprint fingerprint;
  Payload arguments;
  CallSite site;
  RRefId rref;
  ForkId fork;  ///< the caller's own handle
  Sharing sharing = Sharing::turns;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(function, function_name, fingerprint, arguments, site, rref, fork, sharing);
  }
};

/// The reference under which a result stays on the node that made it.
struct NewRRef {
  RRefId rref;
  ForkId fork;  ///< the caller's own handle
  Sharing sharing = Sharing::turns;
  friend bool operator==(const NewRRef&, const NewRRef&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork, sharing);
  }
};

/// Run a function on the value of `rref`, its first argument. Calls on one value take turns in order of arrival, and
/// wait while the value is being created. Request, any holder -> owner of `rref`; answered by Reply, or by RRefCreated
/// if `keep_as` is set. Not idempotent, as Call.
struct ValueCall {
  static constexpr MessageInfo kInfo{0x0103, "ValueCall", Kind::request, Sender::knower};
  FunctionKey function;
  std::string function_name;
  Fingerprint fingerprint;
  Payload arguments;
  CallSite site;
  RRefId rref;
  std::optional<NewRRef> keep_as;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(function, function_name, fingerprint, arguments, site, rref, keep_as);
  }
};

/// The requested value. Reply to Call, ValueCall and RRefFetch, callee or owner -> caller. A second one finds no
/// pending request and is dropped.
struct Reply {
  static constexpr MessageInfo kInfo{0x0104, "Reply", Kind::reply, Sender::answerer};
  Payload value;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

/// Why there is no value. Reply to any request. A second one is dropped, as with Reply.
struct Failure {
  static constexpr MessageInfo kInfo{0x0105, "Failure", Kind::reply, Sender::answerer};
  Error error;
  bool unread = false;  ///< the request's payload was thrown away unread: its sender takes the references in it back
  template <class Archive>
  void serialize(Archive& ar) {
    ar(error, unread);
  }
};

/// The answer to `request` is no longer needed. Notification, caller -> callee; a hint: the callee may stop early, or
/// have answered already. What has not left of an answer is taken back (SE-14). A duplicate, or one for an unknown
/// request, does nothing.
struct CallCancelled {
  static constexpr MessageInfo kInfo{0x0106, "CallCancelled", Kind::notification, Sender::member};
  RequestId request;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(request);
  }
};

}  // namespace troupe::msg
