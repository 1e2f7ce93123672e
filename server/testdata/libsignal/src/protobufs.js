exports.PreKeyWhisperMessage = class {};
exports.WhisperMessage = class {};
