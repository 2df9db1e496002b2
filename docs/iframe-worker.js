// The search runs in a worker, and browsers start none for a page that was opened from a folder. There it runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => this.load(each)));
      this.ready = this.load(address);
    }
    load(address) {
      const script = this.inside.document.createElement("script");
      script.src = address;
      const loaded = new Promise((done) => (script.onload = done));
      this.inside.document.body.append(script);
      return loaded;
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
