const missing = () => { throw new Error('libsignal is not here') };
exports.generateKeyPair = missing;
exports.calculateAgreement = missing;
exports.calculateSignature = missing;
exports.verifySignature = missing;
exports.getPublicFromPrivateKey = missing;
