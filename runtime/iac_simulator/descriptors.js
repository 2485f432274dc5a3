// Foundation's Apple event descriptors, as the bridge spells them: what raw events are made of.
//
// A descriptor is a type (a number) with a value, a list of others, or fields by keyword. Coercions
// are those that scripts use. Source: Apple's NSAppleEventDescriptor reference.
(function (global) {
  "use strict";
  const { ask, bridged, NSObject, NSString, NSData, Nil } = global.__foundation;
  delete global.__foundation;
  const $ = global.$;
  const four = (text) => [...text].reduce((sum, letter) => sum * 256 + letter.charCodeAt(0), 0);
  const plain = (value) => bridged.unwrap(value);
  const BASIC = ["list", "utxt", "TEXT", "long", "doub", "bool"].map(four);
  const CODES = ["type", "enum", "abso"].map(four);
  // Numbers lie in memory with the low byte first.
  const bytesOf = (number, size) => Array.from({ length: size }, (_, at) => String.fromCharCode((number >>> (8 * at)) & 255)).join("");
  const numberOf = (bytes) => [...bytes].reduceRight((sum, byte) => sum * 256 + byte.charCodeAt(0), 0);
  // What keeps an event from being answered at all; other errors are in the answer.
  const UNSENT = [-600, -609, -1712, -1743, -1744];

  class Moment extends NSObject {
    constructor(seconds) { super(); this.timeIntervalSince1970 = Number(seconds); }
    get js() { return new Date(this.timeIntervalSince1970 * 1000); }
  }

  class Descriptor extends NSObject {
    constructor(type, rest) {
      super();
      Object.assign(this, { descriptorType: type, items: undefined, fields: undefined, value: undefined, bytes: undefined }, rest);
    }
    get tree() {
      const { items, fields, value } = this;
      if (items) return { type: this.descriptorType, items: items.map((item) => item.tree) };
      if (fields) return { type: this.descriptorType, fields: fields.map(([key, item]) => [key, item.tree]) };
      return { type: this.descriptorType, value: value === undefined ? null : value };
    }
    get isRecordDescriptor() { return this.fields !== undefined; }
    get numberOfItems() { return String((this.items || this.fields || []).length); }
    descriptorAtIndex(at) { return this.items ? this.items[at - 1] || new Nil() : (this.fields[at - 1] || [0, new Nil()])[1]; }
    keywordForDescriptorAtIndex(at) { return this.fields[at - 1][0]; }
    descriptorForKeyword(key) { return ((this.fields || []).find(([name]) => name === key) || [0, new Nil()])[1]; }
    paramDescriptorForKeyword(key) { return this.descriptorForKeyword(key); }
    setDescriptorForKeyword(item, key) { this.fields.push([key, item]); }
    setParamDescriptorForKeyword(item, key) { this.fields.push([key, item]); }
    insertDescriptorAtIndex(item, at) { this.items.splice(at - 1, 1, item); }
    // Of what is known by its bytes alone the system makes nothing else.
    get stringValue() { return this.value === undefined ? new Nil() : new NSString(this.value); }
    get description() { return new NSString(JSON.stringify(this.tree)); }
    get int32Value() { return this.value | 0; }
    get doubleValue() { return Number(this.value); }
    get booleanValue() { return Boolean(this.value); }
    get typeCodeValue() { return this.value; }
    get enumCodeValue() { return this.value; }
    get dateValue() { return new Moment(Date.parse(this.value) / 1000); }
    get fileURLValue() { return this.value === undefined ? new Nil() : $.NSURL.fileURLWithPath(this.value); }
    get data() {
      if (this.bytes !== undefined) return new NSData(this.bytes);
      return new NSData(bytesOf(CODES.includes(this.descriptorType) || typeof this.value === "number" ? this.value : 0, 4));
    }
    coerceToDescriptorType(type) {
      if (type === this.descriptorType) return this;
      // A record of any other type is the same record; what is no list is the one item of a list.
      if (this.fields && !BASIC.includes(type)) return new Descriptor(type, { fields: this.fields });
      if (type === four("list")) return new Descriptor(type, { items: [this] });
      if (typeof this.value === "number" && type === four("doub")) return new Descriptor(type, { value: this.value });
      return new Nil();
    }
    sendEventWithOptionsTimeoutError(_options, seconds, error) {
      const params = this.fields.map(([key, item]) => [key, item.tree]);
      const root = ask("application", { name: this.target });
      const reply = new Descriptor(four("aevt"), { fields: [] });
      try {
        const answer = ask("transmit", { root, event: this.event, params, timeout: Number(seconds) });
        if (answer !== null) reply.fields.push([four("----"), built(answer)]);
      } catch (failure) {
        if (!failure.errorNumber) throw failure;
        if (UNSENT.includes(failure.errorNumber)) {
          const facts = { code: String(failure.errorNumber), localizedDescription: new NSString(failure.message) };
          Object.assign(error, facts);
          return new Nil();
        }
        reply.fields.push([four("errn"), new Descriptor(four("long"), { value: failure.errorNumber })]);
        reply.fields.push([four("errs"), new Descriptor(four("utxt"), { value: failure.message })]);
      }
      return reply;
    }
  }

  function built(tree) {
    if (tree.items) return new Descriptor(tree.type, { items: tree.items.map(built) });
    if (tree.fields) return new Descriptor(tree.type, { fields: tree.fields.map(([key, item]) => [key, built(item)]) });
    if (tree.bytes !== undefined) return new Descriptor(tree.type, { bytes: tree.bytes });
    return new Descriptor(tree.type, { value: tree.value });
  }

  const made = (type, value) => new Descriptor(four(type), { value });
  const letters = (number) => [24, 16, 8, 0].map((shift) => String.fromCharCode((number >>> shift) & 255)).join("");

  $.NSAppleEventDescriptor = {
    get nullDescriptor() { return made("null", null); },
    get recordDescriptor() { return new Descriptor(four("reco"), { fields: [] }); },
    get listDescriptor() { return new Descriptor(four("list"), { items: [] }); },
    descriptorWithString: (text) => made("utxt", plain(text)),
    descriptorWithBoolean: (value) => made("bool", Boolean(value)),
    descriptorWithInt32: (value) => made("long", value | 0),
    descriptorWithDouble: (value) => made("doub", Number(value)),
    descriptorWithEnumCode: (value) => made("enum", value),
    descriptorWithTypeCode: (value) => made("type", value),
    descriptorWithDate: (moment) => made("ldt ", new Date(moment.timeIntervalSince1970 * 1000).toISOString()),
    descriptorWithFileURL: (url) => made("furl", url.path.js),
    descriptorWithBundleIdentifier: (id) => made("bund", plain(id)),
    descriptorWithDescriptorTypeData: (type, { bytes }) =>
      new Descriptor(type, CODES.includes(type) ? { value: numberOf(bytes) } : { bytes }),
    appleEventWithEventClassEventIDTargetDescriptorReturnIDTransactionID: (kind, id, target) =>
      new Descriptor(four("aevt"), { fields: [], event: letters(kind) + letters(id), target: target.value }),
  };
  $.NSDate = { dateWithTimeIntervalSince1970: (seconds) => new Moment(seconds) };
})(globalThis);
