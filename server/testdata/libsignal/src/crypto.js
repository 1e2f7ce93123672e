const missing = () => { throw new Error('libsignal is not here') };
exports.deriveSecrets = missing;
exports.encrypt = missing;
exports.decrypt = missing;
exports.calculateMAC = missing;
exports.verifyMAC = missing;
exports.hash = missing;
