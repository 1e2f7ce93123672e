class Missing {
  constructor() { throw new Error('libsignal is not here') }
}
exports.SessionCipher = Missing;
exports.SessionBuilder = Missing;
exports.SessionRecord = Missing;
exports.ProtocolAddress = Missing;
exports.GroupCipher = Missing;
exports.curve = {};
exports.keyhelper = {};
