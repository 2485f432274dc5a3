// Foundation's Apple event descriptors, as the bridge spells them: what raw events are made of.
//
// A descriptor is a type (a number) with a value, a list of others, or fields by keyword. Coercions
// are those that scripts use. Source: Apple's NSAppleEventDescriptor reference.
(function (global) {
  "use strict";
  const { ask, bridged, NSObject, NSString, NSData, Nil } = global.__objc;
  delete global.__objc;
  const $ = global.$;
  const four = (text) => [...text].reduce((sum, letter) => sum * 256 + letter.charCodeAt(0), 0);
  const plain = (value) => bridged.unwrap(value);
  const RECORDS = ["obj ", "insl", "rang", "cmpd", "logi", "reco"].map(four);
  const CODES = ["type", "enum", "abso"].map(four);
  // What keeps an event from being answered at all; other errors are in the answer.
  const UNSENT = [-600, -609, -1712, -1743, -1744];

  class Url extends NSObject {
    constructor(path) { super(); Object.assign(this, { path: new NSString(path) }); }
  }
  class Moment extends NSObject {
    constructor(seconds) { super(); this.timeIntervalSince1970 = Number(seconds); }
    get js() { return new Date(this.timeIntervalSince1970 * 1000); }
  }

  class Descriptor extends NSObject {
    constructor(type, rest) { super(); this.descriptorType = type; Object.assign(this, rest); }
    get tree() {
      const { items, fields, value } = this;
      if (items) return { type: this.descriptorType, items: items.map((item) => item.tree) };
      if (fields) return { type: this.descriptorType, fields: fields.map(([key, item]) => [key, item.tree]) };
      return { type: this.descriptorType, value };
    }
    get numberOfItems() { return String((this.items || this.fields || []).length); }
    descriptorAtIndex(at) { return this.items ? this.items[at - 1] || new Nil() : (this.fields[at - 1] || [0, new Nil()])[1]; }
    keywordForDescriptorAtIndex(at) { return this.fields[at - 1][0]; }
    descriptorForKeyword(key) { return ((this.fields || []).find(([name]) => name === key) || [0, new Nil()])[1]; }
    paramDescriptorForKeyword(key) { return this.descriptorForKeyword(key); }
    setDescriptorForKeyword(item, key) { this.fields.push([key, item]); }
    setParamDescriptorForKeyword(item, key) { this.fields.push([key, item]); }
    insertDescriptorAtIndex(item, at) { this.items.splice(at - 1, 1, item); }
    get stringValue() { return new NSString(this.value); }
    get description() { return new NSString(JSON.stringify(this.tree)); }
    get int32Value() { return this.value | 0; }
    get doubleValue() { return Number(this.value); }
    get booleanValue() { return Boolean(this.value); }
    get typeCodeValue() { return this.value; }
    get enumCodeValue() { return this.value; }
    get dateValue() { return new Moment(Date.parse(this.value) / 1000); }
    get fileURLValue() { return new Url(this.value); }
    get data() {
      const code = CODES.includes(this.descriptorType) ? this.value : 0;
      return new NSData([24, 16, 8, 0].map((shift) => String.fromCharCode((code >>> shift) & 255)).join(""));
    }
    coerceToDescriptorType(type) {
      if (type === this.descriptorType) return this;
      if (this.fields && RECORDS.includes(type)) return new Descriptor(type, { fields: this.fields });
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
    descriptorWithDescriptorTypeData: (type, data) => new Descriptor(type, { value: data.bytes.length === 4 ? four(data.bytes) : null }),
    appleEventWithEventClassEventIDTargetDescriptorReturnIDTransactionID: (kind, id, target) =>
      new Descriptor(four("aevt"), { fields: [], event: letters(kind) + letters(id), target: target.value }),
  };
  $.NSURL = { fileURLWithPath: (path) => new Url(plain(path)) };
  $.NSDate = { dateWithTimeIntervalSince1970: (seconds) => new Moment(seconds) };
})(globalThis);
